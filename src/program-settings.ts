/** The settings as a program writes them. The build replaces these two types with exact ones from the schema. */
export type PortcullisSettings = object
export type TenantSettings = object
