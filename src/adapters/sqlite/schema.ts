import { ACCOUNT_TX_SCHEMA } from "./accountTxStore.ts";
import { ACTIVATION_SCHEMA } from "./activationStore.ts";
import { PIN_SCHEMA } from "./certificatePins.ts";
import { CHAIN_SCHEMA } from "./chainStore.ts";
import type { ComponentSchema } from "./migrations.ts";
import { ORDER_SCHEMA } from "./orderStore.ts";
import { PEER_SCHEMA } from "./peerStore.ts";
import { STORE_SCHEMA } from "./storeMark.ts";
import { SWAP_SCHEMA } from "./swapStore.ts";
import { SWAP_VIEW_SCHEMA } from "./swapViews.ts";

/** The tables of the node, one entry per repository file of this folder. Order matters only to foreign keys. */
export const SCHEMA: readonly ComponentSchema[] = [
  CHAIN_SCHEMA,
  ORDER_SCHEMA,
  SWAP_SCHEMA,
  STORE_SCHEMA,
  PEER_SCHEMA,
  ACCOUNT_TX_SCHEMA,
  SWAP_VIEW_SCHEMA,
  PIN_SCHEMA,
  ACTIVATION_SCHEMA,
];
