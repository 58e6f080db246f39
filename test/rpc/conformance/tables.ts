import { ACTIVATION_ROWS } from "./activation.ts";
import { BOOK_ROWS } from "./book.ts";
import { NETWORK_ROWS } from "./network.ts";
import { ORDER_ROWS } from "./orders.ts";
import type { Entry, Row } from "./row.ts";
import { SWAP_ROWS } from "./swaps.ts";
import { TOKEN_ROWS } from "./tokens.ts";
import { WALLET_ROWS } from "./wallet.ts";

const ENTRIES: readonly Entry[] = [
  ...ORDER_ROWS,
  ...BOOK_ROWS,
  ...SWAP_ROWS,
  ...WALLET_ROWS,
  ...NETWORK_ROWS,
  ...TOKEN_ROWS,
  ...ACTIVATION_ROWS,
];

/** Every row of the suite. */
export const CONFORMANCE_ROWS: readonly Row[] = ENTRIES.flatMap((entry) => ("step" in entry ? [] : [entry]));
