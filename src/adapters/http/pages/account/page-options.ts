import { Type } from 'typebox'

const file = (expects: string, description: string) =>
  Type.Optional(Type.String({ minLength: 1, expects, otherwise: 'none', description }))

/** The settings of the pages for accounts. */
export const pageOptions = {
  enabled: Type.Optional(
    Type.Boolean({
      otherwise:
        'on where `mail.url` is set or `/try` is on, if a cookie backend and the router `users` are enabled; off for tenants that a header names',
      description: 'Serves pages for accounts at `/account`: sign in, sign up, reset, verify, change.',
    }),
  ),
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 80,
      expects: 'a name of at most 80 characters',
      otherwise: 'the host of the public URL; `Portcullis` on loopback',
      description: 'Name above each page and in messages.',
    }),
  ),
  logo: file(
    'the path of an image: .svg, .png, .jpg or .webp',
    'Image beside the name: the path of a `.svg`, `.png`, `.jpg` or `.webp` file. Messages show `.png` and `.jpg` of at most 100 KiB.',
  ),
  logoDark: file(
    'the path of an image: .svg, .png, .jpg or .webp',
    'Image in place of `pages.logo` in the dark theme of a browser.',
  ),
  logoWithName: Type.Boolean({ default: true, description: 'Shows the name beside the logo.' }),
  color: Type.Optional(
    Type.String({
      pattern: '^#[0-9A-Fa-f]{6}$',
      expects: 'a colour such as #245a8d',
      otherwise: '`#245a8d`',
      description:
        'Colour of the buttons, also in messages. Their text is black or white, whichever is easier to read.',
    }),
  ),
  contact: Type.Optional(
    Type.String({
      pattern: "^[A-Za-z0-9.!#$%&'*+/=^_`{|}~-]+@[A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)+$",
      expects: 'an address in ASCII, such as help@example.com',
      otherwise: '`mail.replyTo`',
      nullIsNone: true,
      description: 'Address for questions of users. The pages and the notices name it.',
    }),
  ),
  css: file('the path of a .css file', 'CSS file that the pages load after their own.'),
}
