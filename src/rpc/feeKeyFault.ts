import { type NoFeeKey, noFeeKeyText } from "../core/network/dexFee.ts";
import type { FaultSpec } from "./fault.ts";

/** The network profile does not say who receives the dex fee (design D2). */
export const NO_FEE_KEY: FaultSpec<NoFeeKey> = {
  http: 400,
  when: "The network profile names no receiver of the dex fee for the coin a taker would pay it in.",
  text: noFeeKeyText,
  data: ({ coin, profile }) => ({ coin, profile }),
};
