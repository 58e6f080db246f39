import { runRows } from "./runRows.ts";
import { WALLET_ROWS } from "./wallet.ts";

runRows("the wallet", WALLET_ROWS);
