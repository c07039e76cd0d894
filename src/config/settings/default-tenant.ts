/** The tenant of a deployment without tenants, and of requests that name none, where it is listed. */
export const defaultTenant = 'default'
