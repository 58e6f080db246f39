import { parseFrame as real } from "../../src/core/gossip/parseFrame.ts";
import { remembered } from "./remembered.ts";

/** A relay hands one frame to many. */
export const parseFrame: typeof real = remembered(real);
