import * as real from "../../src/adapters/utxoRpc/answers.ts";
import { remembered } from "./remembered.ts";

export * from "../../src/adapters/utxoRpc/answers.ts";

type Parser = typeof real.parseRawBlock;

/** The bytes of a block or transaction that the daemons of all nodes name alike. */
function once(parse: Parser): Parser {
  const ofText = remembered<ReturnType<Parser>, string>(parse);
  return (value) => (typeof value === "string" ? ofText(value) : parse(value));
}

export const parseRawBlock: Parser = once(real.parseRawBlock);
export const parseRawTx: Parser = once(real.parseRawTx);
