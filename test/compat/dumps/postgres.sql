CREATE TYPE public.role AS ENUM (
    'reader',
    'editor'
);
CREATE TABLE public.accesstoken (
    user_id uuid NOT NULL,
    token character varying(43) NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.note (
    id integer NOT NULL,
    user_id uuid NOT NULL,
    text character varying(100) NOT NULL
);
CREATE SEQUENCE public.note_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.note_id_seq OWNED BY public.note.id;
CREATE TABLE public.oauth_account (
    id uuid NOT NULL,
    user_id uuid NOT NULL,
    oauth_name character varying(100) NOT NULL,
    access_token character varying(1024) NOT NULL,
    expires_at integer,
    refresh_token character varying(1024),
    account_id character varying(320) NOT NULL,
    account_email character varying(320) NOT NULL
);
CREATE TABLE public."user" (
    first_name character varying(100) NOT NULL,
    birthday date,
    role public.role NOT NULL,
    newsletter boolean NOT NULL,
    age integer,
    id uuid NOT NULL,
    email character varying(320) NOT NULL,
    hashed_password character varying(1024) NOT NULL,
    is_active boolean NOT NULL,
    is_superuser boolean NOT NULL,
    is_verified boolean NOT NULL
);
ALTER TABLE ONLY public.note ALTER COLUMN id SET DEFAULT nextval('public.note_id_seq'::regclass);
INSERT INTO public.accesstoken VALUES ('26b2a09c-1fdc-47bc-8c9a-ff5b3591a98d', '-HWvjMFv3an4VLs27M5t-UcuOUzP9mCWKun5NT26uBo', '2026-11-27 16:37:56.944252+00');
INSERT INTO public.accesstoken VALUES ('ee03f6cf-945f-4831-88ea-54c518465421', '_l1kdvuAgY94jzlP1unNEXqbcY44seukGZOh6c9jsDw', '2026-11-27 16:37:59.061166+00');
INSERT INTO public.accesstoken VALUES ('450519bb-05f1-4d05-a5e5-8af11aa6bd74', 'Bvuft9qi7ZDLmTe3rhYcIcmmWe_1QTVdBewZEWJchqo', '2026-11-27 16:38:00.649191+00');
INSERT INTO public.accesstoken VALUES ('e4b9cc6c-7b38-4a0b-9c91-6f3025544ede', 'FIVUWhV2E3qMwnB3z-zx4Uz4NcZZTnqGwsg7meT911A', '2026-11-27 16:38:02.650173+00');
INSERT INTO public.accesstoken VALUES ('d6add3e5-cdf0-4961-9f8e-caeda12089a8', 'qFfZU2CGKWNOddp5f3s931soi56UbIJd-8bciJOnowo', '2026-11-27 16:38:03.967469+00');
INSERT INTO public.note VALUES (1, '26b2a09c-1fdc-47bc-8c9a-ff5b3591a98d', 'a note of Person.1@example.com');
INSERT INTO public.note VALUES (2, 'ee03f6cf-945f-4831-88ea-54c518465421', 'a note of Person.3@example.com');
INSERT INTO public.note VALUES (3, 'e4b9cc6c-7b38-4a0b-9c91-6f3025544ede', 'a note of Person.5@example.com');
INSERT INTO public.note VALUES (4, '166f5280-711f-4767-b6b7-85d4b891029e', 'a note of Person.7@example.com');
INSERT INTO public.note VALUES (5, '4adb1823-68b0-42e4-9883-28466da972fb', 'a note of Person.9@example.com');
INSERT INTO public.note VALUES (6, '13d17ca3-c57d-4297-8ef6-495ad5bebb45', 'a note of Person.11@example.com');
INSERT INTO public.note VALUES (7, '97976278-0cf1-45d3-8b26-a32456b70781', 'a note of Person.13@example.com');
INSERT INTO public.note VALUES (8, 'f4b33027-431d-4989-b635-86e9abcb0db7', 'a note of Person.15@example.com');
INSERT INTO public.note VALUES (9, '760a2d92-744d-4503-b259-200a592b6efd', 'a note of Person.17@example.com');
INSERT INTO public.note VALUES (10, '5ee496d9-3fdf-4bd3-94d6-9e87e644130f', 'a note of Person.19@example.com');
INSERT INTO public.note VALUES (11, 'a036d017-8df3-427c-9cc7-c5e9d7ba0cec', 'a note of Person.21@example.com');
INSERT INTO public.note VALUES (12, '1811b5f7-934b-41fb-9389-177c3fde8e4b', 'a note of Person.23@example.com');
INSERT INTO public.note VALUES (13, '351c919b-3ab4-44dd-8c13-2f16c0b293a9', 'a note of Person.25@example.com');
INSERT INTO public.note VALUES (14, 'c5fdbdbd-e2d6-4402-8b9e-7a7198d67a5d', 'a note of Person.27@example.com');
INSERT INTO public.oauth_account VALUES ('cbd91e7a-b28c-4d22-a90e-434698338c47', 'e4b9cc6c-7b38-4a0b-9c91-6f3025544ede', 'acme', 'access of 5 at acme', 1900000005, 'refresh of 5', 'acme-5', 'Person.5@example.com');
INSERT INTO public.oauth_account VALUES ('1253e2c0-37e5-4f05-9c85-14053bcf4455', '166f5280-711f-4767-b6b7-85d4b891029e', 'acme', 'access of 7 at acme', 1900000007, 'refresh of 7', 'acme-7', 'Person.7@example.com');
INSERT INTO public.oauth_account VALUES ('fff2e5f9-e3fa-461f-953a-4e4c84d588dd', '166f5280-711f-4767-b6b7-85d4b891029e', 'other', 'access of 7 at other', 1900000007, 'refresh of 7', 'other-7', 'Person.7@example.com');
INSERT INTO public.oauth_account VALUES ('b15464ba-22be-4c48-b4b7-a3a3349a4673', '4f6b4a93-46b9-41f8-8885-749550c69b8e', 'acme', 'access of 10 at acme', NULL, NULL, 'acme-10', 'Person.10@example.com');
INSERT INTO public.oauth_account VALUES ('816d3c65-7ec8-4575-b94d-5dc578e29bcd', 'bc3a529c-80f6-4446-9f93-4d477d46805d', 'acme', 'access of 14 at acme', NULL, NULL, 'acme-14', 'Person.14@example.com');
INSERT INTO public.oauth_account VALUES ('5bf18d8e-9320-4165-9497-c44e302e5b8f', 'bc3a529c-80f6-4446-9f93-4d477d46805d', 'other', 'access of 14 at other', NULL, NULL, 'other-14', 'Person.14@example.com');
INSERT INTO public.oauth_account VALUES ('7fde236b-d52e-463a-9086-dd2e215fbc36', 'f4b33027-431d-4989-b635-86e9abcb0db7', 'acme', 'access of 15 at acme', 1900000015, 'refresh of 15', 'acme-15', 'Person.15@example.com');
INSERT INTO public.oauth_account VALUES ('f141e503-1014-481b-a899-d21ebcc9130f', 'ccd67678-7b2a-4f1c-9498-8265dc7774a9', 'acme', 'access of 20 at acme', NULL, NULL, 'acme-20', 'Person.20@example.com');
INSERT INTO public.oauth_account VALUES ('d325271b-c579-4874-a51f-688feebb8e57', 'a036d017-8df3-427c-9cc7-c5e9d7ba0cec', 'acme', 'access of 21 at acme', 1900000021, 'refresh of 21', 'acme-21', 'Person.21@example.com');
INSERT INTO public.oauth_account VALUES ('443f6f45-4ae0-41ce-be11-fd59f3aa58c8', 'a036d017-8df3-427c-9cc7-c5e9d7ba0cec', 'other', 'access of 21 at other', 1900000021, 'refresh of 21', 'other-21', 'Person.21@example.com');
INSERT INTO public.oauth_account VALUES ('c0ffdf13-21f1-428b-9a50-5d550e4d36c5', '351c919b-3ab4-44dd-8c13-2f16c0b293a9', 'acme', 'access of 25 at acme', 1900000025, 'refresh of 25', 'acme-25', 'Person.25@example.com');
INSERT INTO public.oauth_account VALUES ('82305f1b-294b-412a-b847-21ae800154f3', 'c28e189a-62f7-49d6-b4d9-2c29d535bb20', 'acme', 'access of 28 at acme', NULL, NULL, 'acme-28', 'Person.28@example.com');
INSERT INTO public.oauth_account VALUES ('6aa325d3-7910-4a18-a296-20b881edac08', 'c28e189a-62f7-49d6-b4d9-2c29d535bb20', 'other', 'access of 28 at other', NULL, NULL, 'other-28', 'Person.28@example.com');
INSERT INTO public."user" VALUES ('Zoë 1', '1971-02-02', 'reader', false, 1, '26b2a09c-1fdc-47bc-8c9a-ff5b3591a98d', 'Person.1@example.com', '$argon2id$v=19$m=65536,t=3,p=4$IAaNuJhe+6BoHYfcbP2ulg$qI4ZvE6jGKUGS1wUsY0cRHFFlxGlUFcFXJHA68AJ9T4', true, true, true);
INSERT INTO public."user" VALUES ('Zoë 2', '1972-03-03', 'reader', true, 2, '6d97de42-cff1-448b-8a06-b8bf52f2ad19', 'Person.2@example.com', '$argon2id$v=19$m=65536,t=3,p=4$ZIJSpCRApTfQvVE7oFo/tA$ZumpdSmIDumc6qPeFQFDopR34IJn4CY7fo1+rWGHQTw', false, false, true);
INSERT INTO public."user" VALUES ('Zoë 3', NULL, 'reader', false, 3, 'ee03f6cf-945f-4831-88ea-54c518465421', 'Person.3@example.com', '$argon2id$v=19$m=65536,t=3,p=4$XpH0lg2NP9KlOh+IGFt9vg$IF+uv/t1s3r1O+PoEoGsWbvu8XmWPFLoQzfYAy4Yeaw', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 4', '1974-05-05', 'reader', true, 4, '450519bb-05f1-4d05-a5e5-8af11aa6bd74', 'Person.4@example.com', '$argon2id$v=19$m=65536,t=3,p=4$NmF73/MzLm1mLilawPxcHw$cAj82qHi3YLFuZyLbylO/lrxtoFvGAd52Mp4cBujjbA', true, false, false);
INSERT INTO public."user" VALUES ('Zoë 5', '1975-06-06', 'reader', false, NULL, 'e4b9cc6c-7b38-4a0b-9c91-6f3025544ede', 'Person.5@example.com', '$argon2id$v=19$m=65536,t=3,p=4$ywwm80mdOsoSguRkFcf8VQ$vViLomJq5YSmfgwhlGoZjZZg3hkJzIsMlISO7wSpDBU', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 6', NULL, 'editor', true, 6, 'd6add3e5-cdf0-4961-9f8e-caeda12089a8', 'Person.6@example.com', '$argon2id$v=19$m=65536,t=3,p=4$i4XoD9HEGOclt+TGS07Yzg$6WbwOTtVFAlHzdVXBL3rcCl6LxusmAfIgOxYB0fkRJk', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 7', '1977-08-08', 'reader', false, 7, '166f5280-711f-4767-b6b7-85d4b891029e', 'Person.7@example.com', '$argon2id$v=19$m=65536,t=3,p=4$DFnJEIaDT7NH9B2FkDQeOg$m0ccil/zqj8N2EEdrDeb1AadF5ChWyYjJtF6khh++jU', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 8', '1978-09-09', 'reader', true, 8, '6f700d23-91ee-4a21-93c3-84e226684f20', 'Person.8@example.com', '$argon2id$v=19$m=65536,t=3,p=4$1RAZQHVu7+24kPbqDr5c/A$6N8tEob8Tczz5CedeWCNtElDXNMgw2oCie6+QG2DSnc', true, false, false);
INSERT INTO public."user" VALUES ('Zoë 9', NULL, 'reader', false, 9, '4adb1823-68b0-42e4-9883-28466da972fb', 'Person.9@example.com', '$argon2id$v=19$m=65536,t=3,p=4$dPt/JIMoSJ9gwNY1h1vG5Q$UWHTt2KznFxL2n7pg4c3bL6sTQNiw5uExxKyum29UpI', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 10', '1980-11-11', 'reader', true, NULL, '4f6b4a93-46b9-41f8-8885-749550c69b8e', 'Person.10@example.com', '$argon2id$v=19$m=65536,t=3,p=4$0j/wsw0G08xffY6HlPIvvw$hPJsUko2BiRxKthcxeaixUkaYB4MdwMPZSFM2vZ6OMU', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 11', '1981-12-12', 'reader', false, 11, '13d17ca3-c57d-4297-8ef6-495ad5bebb45', 'Person.11@example.com', '$argon2id$v=19$m=65536,t=3,p=4$GDjb/A8rjhpstddoSXDtOw$hOtkWjSTh7arv8pEPEMleyfuxJTuRxpO2o+ZxpaEx7E', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 12', NULL, 'editor', true, 12, 'f2b9684c-1090-4413-88a7-12c20d847471', 'Person.12@example.com', '$argon2id$v=19$m=65536,t=3,p=4$6lvQDMhn09tMJEUsh/i6ug$Q310stZ9fKSN8WZIL3ij2iU+UpOFoZDrbqBSn1Y/e1g', true, false, false);
INSERT INTO public."user" VALUES ('Zoë 13', '1983-02-14', 'reader', false, 13, '97976278-0cf1-45d3-8b26-a32456b70781', 'Person.13@example.com', '$argon2id$v=19$m=65536,t=3,p=4$az7E1DUQNPf+iV1v0DsCgg$lX/mKLDbe+YAv4RfNE9UyUX52UW18bC1UbZJzuQyRx0', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 14', '1984-03-15', 'reader', true, 14, 'bc3a529c-80f6-4446-9f93-4d477d46805d', 'Person.14@example.com', '$argon2id$v=19$m=65536,t=3,p=4$UT8b/FwuDPFeSnlX/iUy4g$8zm7SadzanezAycNCQ4xpCVZ8QAl1RQ2jX+VcvrI6Hg', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 15', NULL, 'reader', false, NULL, 'f4b33027-431d-4989-b635-86e9abcb0db7', 'Person.15@example.com', '$argon2id$v=19$m=65536,t=3,p=4$6J3dKGdEXaZh6IwgNE2Txg$BvotF1tkjoR18t0DVcD5/amXnP77CfgubprQPyggfBM', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 16', '1986-05-17', 'reader', true, 16, '5b0a36d2-491d-4a44-9325-2e21f2a0423e', 'Person.16@example.com', '$argon2id$v=19$m=65536,t=3,p=4$nIWcwQe0/1r1FrlBrU0iGQ$JqshQl3B0yyCg8pbkVF7n3cqT7I3NdaHR5ca1vwC3Oc', true, false, false);
INSERT INTO public."user" VALUES ('Zoë 17', '1987-06-18', 'reader', false, 17, '760a2d92-744d-4503-b259-200a592b6efd', 'Person.17@example.com', '$argon2id$v=19$m=65536,t=3,p=4$6Ki6IxC+kbotTdyjX4tlow$mj54XQiaQxMzkZV9/HI3i84CSG1oUcjiJpYXaqikayA', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 18', NULL, 'editor', true, 18, 'ffc85728-7ea2-492a-a1ec-38ecf3ef2c36', 'Person.18@example.com', '$argon2id$v=19$m=65536,t=3,p=4$/1YwnzKTXoS7LOuMMx/8bA$avdas2oGQ1Xto+Ykark+/hlUhbhmLqveeDP1Tbgz+Io', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 19', '1989-08-20', 'reader', false, 19, '5ee496d9-3fdf-4bd3-94d6-9e87e644130f', 'Person.19@example.com', '$argon2id$v=19$m=65536,t=3,p=4$Z7E1qCZwUnUyR1Bgl5o7/A$ESv4RMcMyojoY1iqmLDH29wBB0dPB97INWYEbkw/dpM', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 20', '1990-09-21', 'reader', true, NULL, 'ccd67678-7b2a-4f1c-9498-8265dc7774a9', 'Person.20@example.com', '$argon2id$v=19$m=65536,t=3,p=4$mQryxCvxAPvJyMiJVyOnXg$JQ4tvO2YUrMijgQB+MVw8a2NFwbypfF8FP9+EcUdyvU', true, false, false);
INSERT INTO public."user" VALUES ('Zoë 21', NULL, 'reader', false, 21, 'a036d017-8df3-427c-9cc7-c5e9d7ba0cec', 'Person.21@example.com', '$argon2id$v=19$m=65536,t=3,p=4$JnNOzcDcY6KQXEI/kPMb9g$HFl6xc2BDyIvg1XOQBcLpT/fCdEal2+S7qEaKuQco8Y', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 22', '1992-11-23', 'reader', true, 22, '5095f6fd-a5de-40b5-afaa-1808dc0e58d9', 'Person.22@example.com', '$argon2id$v=19$m=65536,t=3,p=4$2W9iTW34QQoSb9FwvjnUBA$a5o3w2lOXtq/trxeZZddUvfA00X/hH6OY8gRHltCKEs', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 23', '1993-12-24', 'reader', false, 23, '1811b5f7-934b-41fb-9389-177c3fde8e4b', 'Person.23@example.com', '$argon2id$v=19$m=65536,t=3,p=4$9XzF3kitc1OorV47dGuzPg$QVxqEJYWhPzhvvoKtC4WrQ/EKeJZsWE5aAuDlAqqxzA', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 24', NULL, 'editor', true, 24, 'e1890130-9534-4cb1-a48d-60bd086f8519', 'Person.24@example.com', '$argon2id$v=19$m=65536,t=3,p=4$/6x5yT/w9VT1/sQr1GRF9A$DGron6py6EQt86pJSCCs+nFdh+vn/dO0AE+DhRtEyec', true, false, false);
INSERT INTO public."user" VALUES ('Zoë 25', '1995-02-26', 'reader', false, NULL, '351c919b-3ab4-44dd-8c13-2f16c0b293a9', 'Person.25@example.com', '$argon2id$v=19$m=65536,t=3,p=4$G+5JN/xHt4u8UE6mRgEOSw$hiQ2bu09vo7uUqSl+uHvc9C/smynNP4jsOhMWmLAFW0', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 26', '1996-03-27', 'reader', true, 26, 'f760b5be-f71b-41cb-88ed-732f87e0edf3', 'Person.26@example.com', '$argon2id$v=19$m=65536,t=3,p=4$9S0ovAnqIB7qc9aGEh3GPw$WjcV/aQvtipbZocrbY1D/sMcVeHLDmYCG0iKlSc4Y3Y', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 27', NULL, 'reader', false, 27, 'c5fdbdbd-e2d6-4402-8b9e-7a7198d67a5d', 'Person.27@example.com', '$argon2id$v=19$m=65536,t=3,p=4$m9l9XMmYhog5ALoV50zHIQ$i8cNtNe1uvySf3pAyq0xUvhq/HTtTCTpsTdb64Av1CA', true, false, true);
INSERT INTO public."user" VALUES ('Zoë 28', '1998-05-01', 'reader', true, 28, 'c28e189a-62f7-49d6-b4d9-2c29d535bb20', 'Person.28@example.com', '$argon2id$v=19$m=65536,t=3,p=4$SSzBFhvVtgQ2XftvvCtGqw$GCrBn3DsBrBnSUk1wTotLU90qirSEsshTz4JmMXe1sA', true, false, false);
ALTER TABLE ONLY public.accesstoken
    ADD CONSTRAINT accesstoken_pkey PRIMARY KEY (token);
ALTER TABLE ONLY public.note
    ADD CONSTRAINT note_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.oauth_account
    ADD CONSTRAINT oauth_account_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public."user"
    ADD CONSTRAINT user_pkey PRIMARY KEY (id);
CREATE INDEX ix_accesstoken_created_at ON public.accesstoken USING btree (created_at);
CREATE INDEX ix_oauth_account_account_id ON public.oauth_account USING btree (account_id);
CREATE INDEX ix_oauth_account_oauth_name ON public.oauth_account USING btree (oauth_name);
CREATE UNIQUE INDEX ix_user_email ON public."user" USING btree (email);
ALTER TABLE ONLY public.accesstoken
    ADD CONSTRAINT accesstoken_user_id_fkey FOREIGN KEY (user_id) REFERENCES public."user"(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.note
    ADD CONSTRAINT note_user_id_fkey FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.oauth_account
    ADD CONSTRAINT oauth_account_user_id_fkey FOREIGN KEY (user_id) REFERENCES public."user"(id) ON DELETE CASCADE;
