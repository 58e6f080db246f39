import { parseOrderMessage as real } from "../../src/core/message/orderMessage.ts";
import { remembered } from "./remembered.ts";

export * from "../../src/core/message/orderMessage.ts";

export const parseOrderMessage: typeof real = remembered(real);
