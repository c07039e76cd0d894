import type { ExportUser } from '../../../application/accounts/export-user.ts'
import { endpoint, type Router } from '../endpoint.ts'
import { routes } from '../routes.ts'
import { exportBody, UserExportSchema } from '../schemas.ts'

interface Use {
  exportUser: ExportUser
}

/** Users read everything that is stored about them. */
export const ownExportRouter: Router<Use> = {
  tag: 'users',
  endpoints: [
    endpoint(routes.ownExport.exportMe, {
      operationId: 'users:export_current_user',
      summary: 'Export everything that is stored about the own account, without secrets and private fields',
      replies: { 200: { description: 'The data', body: UserExportSchema } },
      async handle({ by }, { exportUser }: Use) {
        return { status: 200, body: exportBody(await exportUser.execute({ by, target: by.user })) }
      },
    }),
  ],
}
