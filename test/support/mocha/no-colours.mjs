// Tests read the output of programs. With these variables, programs colour it although it is no terminal.
delete process.env.FORCE_COLOR
process.env.NO_COLOR = '1'
