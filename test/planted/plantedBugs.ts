import { ACCOUNT_NODES } from "./accountNodes.ts";
import { ACCOUNT_SWAPS } from "./accountSwaps.ts";
import { ACCOUNTS } from "./accounts.ts";
import { CHECKS } from "./checks.ts";
import { DATA_FEE_BUGS } from "./dataFees.ts";
import { EDGES } from "./edges.ts";
import { ELECTRUM } from "./electrum.ts";
import { FEE_BUGS } from "./fees.ts";
import { HTLC_BUGS } from "./htlc.ts";
import { KDF_BUGS } from "./kdf.ts";
import { MONEY } from "./money.ts";
import { NETWORK } from "./network.ts";
import { ORDERS } from "./orders.ts";
import type { PlantedBug } from "./plantedBug.ts";
import { PROOF } from "./proof.ts";
import { SIM_BUGS } from "./sim.ts";
import { SWAP } from "./swap.ts";
import { TOKEN_CLAIMS } from "./tokenClaims.ts";

/** The table, by group: a word for the command line and a heading of the document. A new group is a file and a line here. */
export const PLANTED_BUGS: { readonly [group: string]: readonly PlantedBug[] } = {
  money: MONEY,
  htlc: HTLC_BUGS,
  orders: ORDERS,
  accounts: ACCOUNTS,
  nodes: ACCOUNT_NODES,
  evm: ACCOUNT_SWAPS,
  tokens: TOKEN_CLAIMS,
  data: DATA_FEE_BUGS,
  network: NETWORK,
  proof: PROOF,
  electrum: ELECTRUM,
  swap: SWAP,
  fees: FEE_BUGS,
  edges: EDGES,
  kdf: KDF_BUGS,
  checks: CHECKS,
  simulator: SIM_BUGS,
};
