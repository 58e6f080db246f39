import type { Method } from "../define.ts";
import { activeSwaps, activeSwapsV2 } from "../methods/activeSwaps.ts";
import { allSwapsUuidsByFilter } from "../methods/allSwapsUuidsByFilter.ts";
import { coinsNeededForKickStart } from "../methods/coinsNeededForKickStart.ts";
import { getTradeFee } from "../methods/getTradeFee.ts";
import { importSwaps } from "../methods/importSwaps.ts";
import { maxMakerVol } from "../methods/maxMakerVol.ts";
import { maxTakerVol } from "../methods/maxTakerVol.ts";
import { minTradingVol } from "../methods/minTradingVol.ts";
import { myRecentSwaps, myRecentSwapsV2 } from "../methods/myRecentSwaps.ts";
import { mySwapStatus, mySwapStatusV2 } from "../methods/mySwapStatus.ts";
import { recoverFundsOfSwap } from "../methods/recoverFundsOfSwap.ts";
import { statsSwapStatus } from "../methods/statsSwapStatus.ts";
import { tradePreimage } from "../methods/tradePreimage.ts";

/** Swaps, and what they cost and can be. In the order of the documents. */
export const SWAPS_METHODS: readonly Method[] = [
  myRecentSwaps,
  myRecentSwapsV2,
  allSwapsUuidsByFilter,
  mySwapStatus,
  mySwapStatusV2,
  statsSwapStatus,
  activeSwaps,
  activeSwapsV2,
  recoverFundsOfSwap,
  importSwaps,
  coinsNeededForKickStart,
  tradePreimage,
  getTradeFee,
  maxTakerVol,
  maxMakerVol,
  minTradingVol,
];
