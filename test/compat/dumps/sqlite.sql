CREATE TABLE user (
	id INTEGER NOT NULL, 
	first_name VARCHAR(100) NOT NULL, 
	birthday DATE, 
	role VARCHAR(6) NOT NULL, 
	newsletter BOOLEAN NOT NULL, 
	age INTEGER, 
	email VARCHAR(320) NOT NULL, 
	hashed_password VARCHAR(1024) NOT NULL, 
	is_active BOOLEAN NOT NULL, 
	is_superuser BOOLEAN NOT NULL, 
	is_verified BOOLEAN NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE oauth_account (
	id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	oauth_name VARCHAR(100) NOT NULL, 
	access_token VARCHAR(1024) NOT NULL, 
	expires_at INTEGER, 
	refresh_token VARCHAR(1024), 
	account_id VARCHAR(320) NOT NULL, 
	account_email VARCHAR(320) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(user_id) REFERENCES user (id) ON DELETE cascade
);
CREATE TABLE accesstoken (
	user_id INTEGER NOT NULL, 
	token VARCHAR(43) NOT NULL, 
	created_at TIMESTAMP NOT NULL, 
	PRIMARY KEY (token), 
	FOREIGN KEY(user_id) REFERENCES user (id) ON DELETE cascade
);
CREATE TABLE note (
	id INTEGER NOT NULL, 
	user_id INTEGER NOT NULL, 
	text VARCHAR(100) NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(user_id) REFERENCES user (id)
);
CREATE UNIQUE INDEX ix_user_email ON user (email);
CREATE INDEX ix_oauth_account_account_id ON oauth_account (account_id);
CREATE INDEX ix_oauth_account_oauth_name ON oauth_account (oauth_name);
CREATE INDEX ix_accesstoken_created_at ON accesstoken (created_at);
INSERT INTO "user" VALUES (1, 'Zoë 1', '1971-02-02', 'reader', 0, 1, 'Person.1@example.com', '$argon2id$v=19$m=65536,t=3,p=4$+sIHrvE1i0N0Y70uP/ed/Q$BUw87eMmRg9cm8AJYzw6NDISbojK7CFQbCvwpnFI1SM', 1, 1, 1);
INSERT INTO "user" VALUES (2, 'Zoë 2', '1972-03-03', 'reader', 1, 2, 'Person.2@example.com', '$argon2id$v=19$m=65536,t=3,p=4$AnU6IgmBgT4j1rBeG/OFzA$V/I4QeOxWqjCaKf6CWr3rz9EnjlrunWVgXSuE+YF0nE', 0, 0, 1);
INSERT INTO "user" VALUES (3, 'Zoë 3', NULL, 'reader', 0, 3, 'Person.3@example.com', '$argon2id$v=19$m=65536,t=3,p=4$3zc3Iwpi9t/9WkDjh2U/hQ$u9wO+KTOQ2sIMvmltgmZURCxZ8pZrMo1uGpOoHgnmzQ', 1, 0, 1);
INSERT INTO "user" VALUES (4, 'Zoë 4', '1974-05-05', 'reader', 1, 4, 'Person.4@example.com', '$argon2id$v=19$m=65536,t=3,p=4$3k5LE/spJQLRvxnr+QUi+g$c8nD0GA4+FIgO6AwfJB2T3wGnlhowMZpjZETDc+gp/w', 1, 0, 0);
INSERT INTO "user" VALUES (5, 'Zoë 5', '1975-06-06', 'reader', 0, NULL, 'Person.5@example.com', '$argon2id$v=19$m=65536,t=3,p=4$w3MPIzFgJJduAopiRGsiJw$JUywp+c+dQkx/NxMVbj2TQ5JcdGvh86Y17lq1eiN07k', 1, 0, 1);
INSERT INTO "user" VALUES (6, 'Zoë 6', NULL, 'editor', 1, 6, 'Person.6@example.com', '$argon2id$v=19$m=65536,t=3,p=4$l8swAB1Tcg27ZCIELV1LBQ$S1vQ7QTqAIzjREY0g0YD9rhDVMAGNZjHd6F8DNdlLIs', 1, 0, 1);
INSERT INTO "user" VALUES (7, 'Zoë 7', '1977-08-08', 'reader', 0, 7, 'Person.7@example.com', '$argon2id$v=19$m=65536,t=3,p=4$/9oAG7p7u3SQgPx9E4854Q$+Z8SrNNCHFxlKLxvFBG6iVmn84/r2mMNJvYxIakhGl8', 1, 0, 1);
INSERT INTO "user" VALUES (8, 'Zoë 8', '1978-09-09', 'reader', 1, 8, 'Person.8@example.com', '$argon2id$v=19$m=65536,t=3,p=4$YBKEaqnK4IeSDaloAiqlxQ$hLm4LhAOcnJeBY1wFKRdAydUkoLyxKSklzPRadkPqDI', 1, 0, 0);
INSERT INTO "user" VALUES (9, 'Zoë 9', NULL, 'reader', 0, 9, 'Person.9@example.com', '$argon2id$v=19$m=65536,t=3,p=4$KDBvvoBbVHm4M24+9L2yhA$ntuT8RI0JTywsm0koH3Zw8Wdm7DjgBVtpexQ6s+tu2Y', 1, 0, 1);
INSERT INTO "user" VALUES (10, 'Zoë 10', '1980-11-11', 'reader', 1, NULL, 'Person.10@example.com', '$argon2id$v=19$m=65536,t=3,p=4$Wj2nh3DbNJE3avMeZ/9xbg$cPTkQkw1xzSutcWpXjTYaG9TSg+f4wYU5zZF+IwmEVg', 1, 0, 1);
INSERT INTO "user" VALUES (11, 'Zoë 11', '1981-12-12', 'reader', 0, 11, 'Person.11@example.com', '$argon2id$v=19$m=65536,t=3,p=4$r941QQVmzmyFXGf2GgiWOA$5Y9E7qHTOG1FemY1q9xecpA6rBQRXys9FD8CdcWBnRI', 1, 0, 1);
INSERT INTO "user" VALUES (12, 'Zoë 12', NULL, 'editor', 1, 12, 'Person.12@example.com', '$argon2id$v=19$m=65536,t=3,p=4$eynzAfhLcWu5uUupBRrTDw$dABPV8xGT/qmfvWIVEhpHHNQoaejZRkP7vB6/KchZU4', 1, 0, 0);
INSERT INTO "user" VALUES (13, 'Zoë 13', '1983-02-14', 'reader', 0, 13, 'Person.13@example.com', '$argon2id$v=19$m=65536,t=3,p=4$KUqziPyw0yvfrOOq1wkh+g$wZPRjs8SE9SMKJVoSNHb0JGBQDcdeQ1mznaaKVFtW4c', 1, 0, 1);
INSERT INTO "user" VALUES (14, 'Zoë 14', '1984-03-15', 'reader', 1, 14, 'Person.14@example.com', '$argon2id$v=19$m=65536,t=3,p=4$7dVF4Nh0otv6zo4agQYEVQ$E+1bOL9x1lqUzIkplIhnGzEHseqKAIs/O2g2/Qr4GLI', 1, 0, 1);
INSERT INTO "oauth_account" VALUES (1, 5, 'acme', 'access of 5 at acme', 1900000005, 'refresh of 5', 'acme-5', 'Person.5@example.com');
INSERT INTO "oauth_account" VALUES (2, 7, 'acme', 'access of 7 at acme', 1900000007, 'refresh of 7', 'acme-7', 'Person.7@example.com');
INSERT INTO "oauth_account" VALUES (3, 7, 'other', 'access of 7 at other', 1900000007, 'refresh of 7', 'other-7', 'Person.7@example.com');
INSERT INTO "oauth_account" VALUES (4, 10, 'acme', 'access of 10 at acme', NULL, NULL, 'acme-10', 'Person.10@example.com');
INSERT INTO "oauth_account" VALUES (5, 14, 'acme', 'access of 14 at acme', NULL, NULL, 'acme-14', 'Person.14@example.com');
INSERT INTO "oauth_account" VALUES (6, 14, 'other', 'access of 14 at other', NULL, NULL, 'other-14', 'Person.14@example.com');
INSERT INTO "accesstoken" VALUES (1, 'WXSQ9LjwXElV72TFsfYV6r_3VEON-9JJ8dp-TccCdiA', '2026-11-27 16:38:29.172934');
INSERT INTO "accesstoken" VALUES (3, 'z7463xkHrra1TglvDYjR6jzE3RfPv4JIo6PZOC8zIMQ', '2026-11-27 16:38:30.897201');
INSERT INTO "accesstoken" VALUES (4, '88ZwIw1UWjFrAB94IduXfEwJ_ONDRCAVadxDJAuloUY', '2026-11-27 16:38:31.692812');
INSERT INTO "accesstoken" VALUES (5, 'j7PqbFu2zfECR2SPe5LMJt5znb9NWPEBfA0D6t2F0h0', '2026-11-27 16:38:32.663897');
INSERT INTO "accesstoken" VALUES (6, '1awc6De3Ttot43jhWZM0HgzoBZF3GMSDQdf6HkcRF9s', '2026-11-27 16:38:33.601517');
INSERT INTO "note" VALUES (1, 1, 'a note of Person.1@example.com');
INSERT INTO "note" VALUES (2, 3, 'a note of Person.3@example.com');
INSERT INTO "note" VALUES (3, 5, 'a note of Person.5@example.com');
INSERT INTO "note" VALUES (4, 7, 'a note of Person.7@example.com');
INSERT INTO "note" VALUES (5, 9, 'a note of Person.9@example.com');
INSERT INTO "note" VALUES (6, 11, 'a note of Person.11@example.com');
INSERT INTO "note" VALUES (7, 13, 'a note of Person.13@example.com');
