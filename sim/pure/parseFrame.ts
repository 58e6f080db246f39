import { parseFrame as real } from "../../src/core/gossip/parseFrame.ts";
import { KEPT_ON_THE_WAY, remembered } from "./remembered.ts";

/** A relay hands one frame to many. */
export const parseFrame: typeof real = remembered(real, KEPT_ON_THE_WAY);
