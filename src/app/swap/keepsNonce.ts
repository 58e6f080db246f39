/**
 * For so long what may not leave keeps the nonce it was signed with, seconds: a look at each chain and a question to the nodes may come
 * in between, and no other swap's claim waits for it longer than that.
 */
export const KEEPS_NONCE_SEC = 30;
