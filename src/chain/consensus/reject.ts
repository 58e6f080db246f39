/** Why a block or transaction is invalid: the short word a Core daemon uses for it, and details for people. */
export type Reject = { readonly reason: string; readonly detail?: string };
