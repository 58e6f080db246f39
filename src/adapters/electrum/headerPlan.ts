import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import type { Anchored } from "./checkedHeaders.ts";

/** What is to become of the chain of headers. Nothing is changed until `adopt`. */
export type HeaderPlan = {
  /** The last block that stays; null: all that was known goes. */
  readonly fork: number | null;
  /** Above the fork, ascending. */
  readonly headers: readonly BlockHeader[];
  /** Height after this step, and that of the chain followed. */
  readonly height: number;
  readonly target: number;
  /** Null: the chain stays as it is. */
  readonly chain: Anchored | null;
};

/** Nothing changes. */
export const stayAt = (height: number): HeaderPlan => ({ fork: height, headers: [], height, target: height, chain: null });
