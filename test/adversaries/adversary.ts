import type { Silence } from "../../src/core/peers/peerRecord.ts";
import type { Outcome, Role } from "../../src/core/swap/events.ts";
import type { Stage } from "./stage.ts";

/** What the honest side may lose at most; the price of a trade that it made is no loss. */
export type Loss = "nothing" | "miner fees" | "dex fee and miner fees";
/** How the node sees the key afterwards: what kind of silence it notes, or a ban for what the key has signed. */
export type Treatment = "none" | Silence | "ban";

/** An adversary that plays against one side of a swap. */
export type Adversary = {
  readonly name: string;
  readonly tries: string;
  /** The side it plays. */
  readonly plays: Role;
  /** What the chains and nodes of this world are like, beside the default. */
  readonly world?: { readonly coin?: object; readonly blockSec?: number | null };
  /** How the swaps end for the honest side, in the order they were begun. */
  readonly ends: readonly Outcome[];
  readonly loses: Loss;
  readonly treated: Treatment;
  /** What the honest side's last swap says of why it ended so, where that must name the deviation. */
  readonly says?: string;
  /** Plays until nothing is left for it to do. */
  readonly play: (stage: Stage) => Promise<void>;
};

/** An adversary that a test of another folder plays. */
export type PlayedElsewhere = {
  readonly name: string;
  readonly tries: string;
  readonly loses: string;
  readonly treated: string;
  readonly test: { readonly file: string /** The beginning of its name, as it stands in the file. */; readonly name: string };
};
