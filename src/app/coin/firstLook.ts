/** KDF takes a coin out again when its balance does not come within this. */
export const FIRST_BALANCE_MS = 20_000;
/** A backend that refuses or does not answer may be starting; after this it is told. */
export const FAILING_MS = 3_000;
