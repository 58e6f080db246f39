import { runRows } from "./runRows.ts";
import { SWAP_ROWS } from "./swaps.ts";

runRows("swaps", SWAP_ROWS);
