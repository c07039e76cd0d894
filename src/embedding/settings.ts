// Generated from the schema of the settings by `npm run docs`.

/** The settings, the same tree that the settings file holds. What is left out, or `undefined`, has its default. */
export interface PortcullisSettings {
  readonly http?:
    | {
        /** Address to listen on; `0.0.0.0` or `::` for all. Default: `127.0.0.1`. */
        readonly host?: string | undefined
        /** Port to listen on. `0` picks a free port and prints it. From 0 to 65535. Default: `3000`. */
        readonly port?: number | undefined
        /**
         * Origin under which browsers reach the service. Default: `http://localhost:<port>` on loopback,
         * elsewhere required.
         */
        readonly publicUrl?: string | undefined
        /**
         * Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.
         * Default: none.
         */
        readonly allowedOrigins?: readonly string[] | undefined
        /**
         * Connections at a time. At the limit the service closes idle connections; if none is idle, it refuses
         * new ones. From 1 to 1000000. Default: `10000`.
         */
        readonly maxConnections?: number | undefined
        /**
         * A connection whose client reads no byte of an answer for this time is closed. From 1 to 3600.
         * Default: `20`.
         */
        readonly writeTimeoutSeconds?: number | undefined
      }
    | undefined
  /**
   * Folder of the SQLite file and of the generated secret. A relative path starts in the current folder.
   * Default: `./data`.
   */
  readonly dataFolder?: string | undefined
  /**
   * Master secret of at least 32 bytes. All keys are derived from it. `openssl rand -base64 32` makes
   * one. Default: generated into the data folder with users in `memory` or `sqlite`, otherwise required.
   */
  readonly secret?: string | undefined
  readonly stores?:
    | {
        readonly users?:
          | {
              /** Store of the users. One of `memory`, `sqlite`, `mongo`. Default: `sqlite`. */
              readonly kind?: 'memory' | 'sqlite' | 'mongo' | undefined
              /** Address of the server, for MongoDB and Redis. Default: none. */
              readonly url?: string | undefined
            }
          | undefined
        readonly sessions?:
          | {
              /** Store of the sessions. One of `memory`, `sqlite`, `mongo`, `redis`. Default: the kind of the users. */
              readonly kind?: 'memory' | 'sqlite' | 'mongo' | 'redis' | undefined
              /**
               * Address of the server, for MongoDB and Redis. Default: the address of the users, if the kind is the
               * same.
               */
              readonly url?: string | undefined
              /**
               * (redis) Prefix of every key. Deployments that share a Redis server need different prefixes. Default:
               * `portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address.
               */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly tokens?:
          | {
              /**
               * Store of the one-time tokens. One of `memory`, `sqlite`, `mongo`, `redis`. Default: the kind of the
               * users.
               */
              readonly kind?: 'memory' | 'sqlite' | 'mongo' | 'redis' | undefined
              /**
               * Address of the server, for MongoDB and Redis. Default: the address of the users, if the kind is the
               * same.
               */
              readonly url?: string | undefined
              /**
               * (redis) Prefix of every key. Deployments that share a Redis server need different prefixes. Default:
               * `portcullis:`; `portcullis:<tenant>:` for a tenant that inherits the address.
               */
              readonly prefix?: string | undefined
            }
          | undefined
      }
    | undefined
  readonly backends?:
    | {
        readonly [name: string]: {
          /** `false` removes the backend. Default: `true`. */
          readonly enabled?: boolean | undefined
          /** Path in front of the routes. Default: `/auth/<name>`. */
          readonly prefix?: string | undefined
          /** The login refuses users without a verified address. Default: `false`. */
          readonly requiresVerification?: boolean | undefined
          /** How the client sends the credential. */
          readonly transport?:
            | {
                readonly kind?: 'bearer' | undefined
              }
            | {
                readonly kind?: 'cookie' | undefined
                /**
                 * Name of the cookie. A `__Host-` name makes browsers refuse a cookie that another host has set.
                 * Default: `__Host-session`.
                 */
                readonly name?: string | undefined
                /** Browsers send the cookie only over HTTPS, and to localhost. Default: `true`. */
                readonly secure?: boolean | undefined
                /** Scripts of the page cannot read the cookie. Default: `true`. */
                readonly httpOnly?: boolean | undefined
                /**
                 * With `none`, requests of other sites carry the cookie. The service still refuses those that change
                 * something. One of `lax`, `strict`, `none`. Default: `lax`.
                 */
                readonly sameSite?: 'lax' | 'strict' | 'none' | undefined
                /** Browsers send the cookie to paths below this one. Default: `/`. */
                readonly path?: string | undefined
                /**
                 * Shares the cookie with the subdomains of this domain. Not possible with a `__Host-` name. Default:
                 * the host alone.
                 */
                readonly domain?: string | undefined
              }
            | undefined
          /** Kind of the credential. */
          readonly strategy?:
            | {
                readonly kind?: 'jwt' | undefined
                /**
                 * The claim `aud` of new tokens. The service refuses tokens with another one. Default:
                 * `portcullis:auth`.
                 */
                readonly audience?: string | undefined
                /** Lifetime of a token. From 1 to 34560000. Default: `3600`. */
                readonly lifetimeSeconds?: number | undefined
              }
            | {
                readonly kind?: 'stored' | undefined
                /** Longest lifetime of a session. From 1 to 34560000. Default: `2592000`. */
                readonly lifetimeSeconds?: number | undefined
                /**
                 * A session without a request for this time ends. It never lives longer than `lifetimeSeconds`. From 1
                 * to 34560000. Default: `86400`.
                 */
                readonly idleSeconds?: number | undefined
              }
            | undefined
        }
      }
    | undefined
  readonly routers?:
    | {
        readonly register?:
          | {
              /** Registration: `POST /register`. Default: `true`. */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/auth`. */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly resetPassword?:
          | {
              /** Password reset: `POST /forgot-password`, `POST /reset-password`. Default: `true`. */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/auth`. */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly verify?:
          | {
              /** Verification of e-mail addresses: `POST /request-verify-token`, `POST /verify`. Default: `true`. */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/auth`. */
              readonly prefix?: string | undefined
            }
          | undefined
        readonly users?:
          | {
              /**
               * Reading, changing and deleting users: `GET /me`, `PATCH /me`, `GET /me/oauth-accounts`, `GET
               * /:user_id`, `PATCH /:user_id`, `DELETE /:user_id`. Default: `true`.
               */
              readonly enabled?: boolean | undefined
              /** Path in front of the routes. Default: `/users`. */
              readonly prefix?: string | undefined
            }
          | undefined
      }
    | undefined
  readonly providers?:
    | {
        readonly [name: string]: {
          /** The id of this service at the provider. Default: required in a new entry. */
          readonly clientId?: string | undefined
          /** `false` removes the provider. Default: `true`. */
          readonly enabled?: boolean | undefined
          /** Path in front of the routes. Default: `/auth/<name>`. */
          readonly prefix?: string | undefined
          /** Path in front of the routes that link accounts. Default: `/auth/associate/<name>`. */
          readonly associatePrefix?: string | undefined
          /** Backend that creates the session of a successful sign-in. Default: the first one. */
          readonly backend?: string | undefined
          /**
           * Links the account to the user with the same address, if the provider and the service have both
           * verified it. Default: `false`.
           */
          readonly associateByEmail?: boolean | undefined
          /** New users are verified, if the provider vouches for the address. Default: `false`. */
          readonly verifiedByDefault?: boolean | undefined
          /** Refuses users without a verified address. Default: `false`. */
          readonly requiresVerification?: boolean | undefined
          readonly redirects?:
            | {
                /** Page after a login, instead of a JSON answer. Default: none. */
                readonly success?: string | undefined
                /** Page after linking, instead of a JSON answer. Default: none. */
                readonly linked?: string | undefined
                /** Page after a refusal, with the `detail` in `?error=`. Default: none. */
                readonly failure?: string | undefined
              }
            | undefined
          /** Page of the front end that calls the callback by `fetch`. Default: the callback of the service. */
          readonly redirectUrl?: string | undefined
          /** The page of the front end for linking. Default: the callback for linking of the service. */
          readonly redirectUrlAssociate?: string | undefined
        } & (
          | {
              readonly kind?: 'oauth2' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: none. */
              readonly scopes?: readonly string[] | undefined
              /** Authorization endpoint: the page that the browser opens. Default: required in a new entry. */
              readonly authorizeUrl?: string | undefined
              /** Token endpoint: exchanges a code for a token. Default: required in a new entry. */
              readonly tokenUrl?: string | undefined
              /** Profile endpoint: returns the account of a token. Default: required in a new entry. */
              readonly profileUrl?: string | undefined
              readonly profile?:
                | {
                    /** Field of the profile with the id of the account, which never changes. Default: `id`. */
                    readonly accountId?: string | undefined
                    /** Field of the profile with the address. Default: `email`. */
                    readonly email?: string | undefined
                    /** Field of the profile that is `true` for a verified address. Default: `email_verified`. */
                    readonly emailVerified?: string | undefined
                    /** The ids of accounts are numbers. Default: `false`. */
                    readonly integerAccountId?: boolean | undefined
                  }
                | undefined
              /** Character between two scopes. One of ` `, `,`. Default: ` `. */
              readonly scopeSeparator?: ' ' | ',' | undefined
              /**
               * Authentication at the token endpoint: HTTP Basic, or id and secret in the body. One of `basic`,
               * `post`. Default: `basic`.
               */
              readonly clientAuthentication?: 'basic' | 'post' | undefined
              /** Expected `iss` of callbacks (RFC 9207). Default: not checked. */
              readonly issuer?: string | undefined
            }
          | {
              readonly kind?: 'openid-connect' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /**
               * Address of the issuer, without `/.well-known/openid-configuration`. Default: required in a new
               * entry.
               */
              readonly issuer?: string | undefined
              /**
               * Authentication at the token endpoint: HTTP Basic, or id and secret in the body. One of `basic`,
               * `post`. Default: from the metadata of the provider.
               */
              readonly clientAuthentication?: 'basic' | 'post' | undefined
            }
          | {
              readonly kind?: 'apple' | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /** The team of the Services ID. Default: required in a new entry. */
              readonly teamId?: string | undefined
              /** The id of the private key. Default: required in a new entry. */
              readonly keyId?: string | undefined
              /** The private key, which signs the client secrets. Default: required in a new entry. */
              readonly privateKey?: string | undefined
            }
          | {
              readonly kind?: 'discord' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `identify,email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'facebook' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `email,public_profile`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'franceconnect' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /** Environment of FranceConnect. One of `production`, `integration`. Default: `production`. */
              readonly environment?: 'production' | 'integration' | undefined
            }
          | {
              readonly kind?: 'github' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `user:email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'gitlab' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,email`. */
              readonly scopes?: readonly string[] | undefined
              /** The address of GitLab. Change it for your own GitLab. Default: `https://gitlab.com`. */
              readonly url?: string | undefined
            }
          | {
              readonly kind?: 'google' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,email,profile`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'kakao' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `account_email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'linkedin' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,profile,email`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'microsoft' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,email,profile`. */
              readonly scopes?: readonly string[] | undefined
              /** Accounts that may sign in. Default: `common`. */
              readonly tenant?: string | undefined
            }
          | {
              readonly kind?: 'naver' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: none. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'okta' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `openid,email,profile`. */
              readonly scopes?: readonly string[] | undefined
              /** The domain of the organization, for example `example.okta.com`. Default: required in a new entry. */
              readonly domain?: string | undefined
              /** A custom authorization server. Default: the server of the organization. */
              readonly authorizationServer?: string | undefined
            }
          | {
              readonly kind?: 'reddit' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: `identity`. */
              readonly scopes?: readonly string[] | undefined
            }
          | {
              readonly kind?: 'shopify' | undefined
              /** The client secret from the provider. Default: required in a new entry. */
              readonly clientSecret?: string | undefined
              /** Allowed scopes. A request without scopes asks for all of them. Default: none. */
              readonly scopes?: readonly string[] | undefined
              /** The shop whose staff may sign in. Default: required in a new entry. */
              readonly shop?: string | undefined
            }
        )
      }
    | undefined
  readonly handlers?:
    | {
        /**
         * ES module that exports handlers by their names (`on_after_register`, …). `null` removes an inherited
         * module from a tenant. Default: none.
         */
        readonly module?: string | null | undefined
        /**
         * Prints every event, with its tokens, as one JSON line on standard output. Default: on without a
         * module when the host and the public URL are loopback.
         */
        readonly console?: boolean | undefined
        /**
         * A handler that takes longer has failed. The service calls it again. From 0.05 to 3600. Default:
         * `10`.
         */
        readonly timeoutSeconds?: number | undefined
      }
    | undefined
  readonly events?:
    | {
        /**
         * With `off`, the service delivers no events and removes no expired data. `portcullis worker` does
         * both. One of `on`, `off`. Default: `on`.
         */
        readonly relay?: 'on' | 'off' | undefined
        /**
         * Length of a lease. When a process dies, others take over its deliveries after this time. From 3 to
         * 3600. Default: `20`.
         */
        readonly leaseSeconds?: number | undefined
      }
    | undefined
  readonly passwords?:
    | {
        /** Smallest number of characters of a new password. From 8 to 64. Default: `8`. */
        readonly minLength?: number | undefined
        /**
         * A request gets 503 with `Retry-After` if its password hash would wait longer. From 0 to 3600.
         * Default: `3`.
         */
        readonly maxWaitSeconds?: number | undefined
        /**
         * Lanes of hashes that run at the same time. One hash uses `parallelism` lanes. From 1 to 1024.
         * Default: from the number of processors.
         */
        readonly concurrency?: number | undefined
        /** Memory of one argon2id hash, in KiB. From 7168 to 1048576. Default: `19456`. */
        readonly memoryKiB?: number | undefined
        /** Passes of one argon2id hash. From 1 to 99. Default: `2`. */
        readonly timeCost?: number | undefined
        /** Lanes of one argon2id hash. From 1 to 16. Default: `1`. */
        readonly parallelism?: number | undefined
      }
    | undefined
  readonly tokens?:
    | {
        /** Lifetime of a password reset token. From 1 to 86400. Default: `900`. */
        readonly resetLifetimeSeconds?: number | undefined
        /** Lifetime of a verification token. From 1 to 2592000. Default: `86400`. */
        readonly verifyLifetimeSeconds?: number | undefined
      }
    | undefined
  readonly verification?:
    | {
        /**
         * An address is verified only within a session of its account; otherwise 401. The owner of an address
         * can then not verify an account that somebody else registered. Default: `false`.
         */
        readonly requiresSession?: boolean | undefined
      }
    | undefined
  readonly security?:
    | {
        /**
         * Linking, unlinking, a change of password or address, and every change or deletion by a superuser
         * need a login within this time. A PATCH may send `current_password` instead. `0` turns the check off.
         * From 0 to 34560000. Default: `0`.
         */
        readonly freshLoginSeconds?: number | undefined
        /**
         * Limit of open sign-ins at OAuth providers. Above it, a new one gets 503 with `Retry-After`. From 1
         * to 1000000. Default: `10000`.
         */
        readonly maxOpenJourneys?: number | undefined
      }
    | undefined
  readonly logs?:
    | {
        /**
         * Lowest level of log lines (standard error). One of `fatal`, `error`, `warn`, `info`, `debug`,
         * `trace`, `silent`. Default: `info`.
         */
        readonly level?: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent' | undefined
        /**
         * Requests in the log: `slow` means failed ones and those above 250 ms. One of `slow`, `all`. Default:
         * `slow`.
         */
        readonly requests?: 'slow' | 'all' | undefined
      }
    | undefined
  readonly docs?:
    | {
        /** Serves `/docs` and `/openapi.json`. Default: `true`. */
        readonly enabled?: boolean | undefined
      }
    | undefined
  readonly try?:
    | {
        /**
         * Serves `/try`, a page to try the service (`examples/browser`), to browsers on this machine. A
         * request with another `Host`, or with `Forwarded` or `X-Forwarded-*`, gets 404. Default: on when the
         * host and the public URL are loopback.
         */
        readonly enabled?: boolean | undefined
      }
    | undefined
  readonly tenants?:
    | {
        /** How a request names its tenant. One of `header`, `path`, `host`. Default: there are no tenants. */
        readonly by?: 'header' | 'path' | 'host' | undefined
        /**
         * With `by: "header"`: the header with the name of the tenant. A proxy must set it, or remove it from
         * requests of callers. Default: `X-Tenant`.
         */
        readonly header?: string | undefined
        /**
         * With `by: "path"`: every path begins with this prefix and the tenant, as in `/t/{tenant}`. Default:
         * `/t`.
         */
        readonly pathPrefix?: string | undefined
        /**
         * Folder with a file `<tenant>.json` for each tenant. You can use it with `list` or without. Default:
         * none.
         */
        readonly folder?: string | undefined
        /** The tenants by name, each with its own settings. Default: none. */
        readonly list?: { readonly [tenant: string]: TenantSettings } | undefined
        /**
         * Limit of open tenants. Above it, the service closes the least recently used one. From 1 to 100000.
         * Default: `500`.
         */
        readonly maxOpen?: number | undefined
        /**
         * The service closes a tenant without requests for this time, except one with a `memory` store. From 1
         * to 86400. Default: `300`.
         */
        readonly idleSeconds?: number | undefined
        /**
         * Interval at which the service opens closed tenants, to find events of other processes. From 1 to
         * 86400. Default: `600`.
         */
        readonly scanSeconds?: number | undefined
      }
    | undefined
}

/** The settings of one tenant, in which it differs from the others. */
export interface TenantSettings {
  /** With `by: "host"`: the host names of the tenant. Default: none. */
  readonly hosts?: readonly string[] | undefined
  readonly http?:
    | {
        /**
         * Origin under which browsers reach the service. Default: `http://localhost:<port>` on loopback,
         * elsewhere required.
         */
        readonly publicUrl?: string | undefined
        /**
         * Origins of front ends that may call the service with credentials (CORS). Never `*` or `null`.
         * Default: none.
         */
        readonly allowedOrigins?: readonly string[] | undefined
      }
    | undefined
  /**
   * Folder of the SQLite file and of the generated secret. A relative path starts in the current folder.
   * Default: `./data`.
   */
  readonly dataFolder?: PortcullisSettings['dataFolder'] | undefined
  /**
   * Master secret of at least 32 bytes. All keys are derived from it. `openssl rand -base64 32` makes
   * one. Default: generated into the data folder with users in `memory` or `sqlite`, otherwise required.
   */
  readonly secret?: PortcullisSettings['secret'] | undefined
  readonly stores?: PortcullisSettings['stores'] | undefined
  readonly backends?: PortcullisSettings['backends'] | undefined
  readonly routers?: PortcullisSettings['routers'] | undefined
  readonly providers?: PortcullisSettings['providers'] | undefined
  readonly handlers?: PortcullisSettings['handlers'] | undefined
  readonly passwords?:
    | {
        /** Smallest number of characters of a new password. From 8 to 64. Default: `8`. */
        readonly minLength?: number | undefined
        /** Memory of one argon2id hash, in KiB. From 7168 to 1048576. Default: `19456`. */
        readonly memoryKiB?: number | undefined
        /** Passes of one argon2id hash. From 1 to 99. Default: `2`. */
        readonly timeCost?: number | undefined
        /** Lanes of one argon2id hash. From 1 to 16. Default: `1`. */
        readonly parallelism?: number | undefined
      }
    | undefined
  readonly tokens?: PortcullisSettings['tokens'] | undefined
  readonly verification?: PortcullisSettings['verification'] | undefined
  readonly security?: PortcullisSettings['security'] | undefined
  readonly try?: PortcullisSettings['try'] | undefined
}
