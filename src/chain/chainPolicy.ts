import type { ChainParams } from "./chainParams.ts";

/**
 * What this chain's nodes relay and its miners take, beside the rules of its kind. All of it can be changed while the chain runs
 * (`chain_policy`), so that fee spikes, full mempools and networks of other habits can be played. Rates in base units per 1000
 * virtual bytes.
 */
export type ChainPolicy = {
  /** A conflicting transaction that pays more takes the place of one that offers itself (BIP-125). */
  replacement: boolean;
  /** Miners count the fees of children for their parents (Bitcoin Core since 0.13.0); else each transaction for itself. */
  packages: boolean;
  /** Below this nothing enters the mempool, as when a full one has pushed others out; 0: only the relay minimum counts. */
  entryFeePerKb: bigint;
  /** Below this nothing is mined (Core's `blockmintxfee`): the rest of the block is taken by others who pay that. */
  blockFeePerKb: bigint;
  /** Virtual bytes of transactions in a block; null: as many as consensus allows. */
  blockVbytes: number | null;
};

/** The Zcash family forked from Bitcoin Core 0.11, before replacement and before mining by packages. */
export const defaultPolicy = ({ replacement, kind }: ChainParams): ChainPolicy => ({
  replacement,
  packages: kind !== "kmd",
  entryFeePerKb: 0n,
  blockFeePerKb: 0n,
  blockVbytes: null,
});
