import type { ShownSwap } from "../core/swap/shownSwap.ts";

/** How a list shows a swap: the status itself, or, in the versioned style, its kind beside its data. */
export type SwapForm = "status" | "typed";

const TEXT: { readonly [F in SwapForm]: (swap: ShownSwap) => string } = {
  status: (swap) => swap.text,
  typed: (swap) => `{"swap_type":"${swapType(swap)}","swap_data":${swap.bareText}}`,
};

export const swapType = (swap: ShownSwap): "MakerV1" | "TakerV1" => (swap.isMaker ? "MakerV1" : "TakerV1");

/**
 * A result whose `swaps` are put into the reply as the texts they are, instead of being read and written again: of ten that is some 70 kB.
 * Made of nothing but what may be shown (`ShownSwap`) and of plain fields.
 */
export class SwapList {
  readonly #swaps: readonly ShownSwap[];
  readonly #form: SwapForm;
  readonly #rest: object;

  /** @param rest the fields behind `swaps`, at least one */
  constructor(swaps: readonly ShownSwap[], form: SwapForm, rest: object) {
    this.#swaps = swaps;
    this.#form = form;
    this.#rest = rest;
  }

  /** JSON of the result. Throws `RangeError` when that is longer than a text can be. */
  get text(): string {
    return `{"swaps":[${this.#swaps.map(TEXT[this.#form]).join(",")}],${JSON.stringify(this.#rest).slice(1)}`;
  }
}
