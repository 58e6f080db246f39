import { parseBlock as real } from "../../src/adapters/utxoRpc/parseBlock.ts";
import { remembered } from "./remembered.ts";

export * from "../../src/adapters/utxoRpc/parseBlock.ts";

/** What a block's bytes are, by how they are read. */
const readingsOf = remembered((_bytes): Map<string, ReturnType<typeof real>> => new Map());

export const parseBlock: typeof real = (bytes, format, first = "plain") => {
  const how = `${first} ${JSON.stringify(format)}`;
  const readings = readingsOf(bytes);
  const known = readings.get(how);
  if (known) return known;
  const answer = real(bytes, format, first);
  readings.set(how, answer);
  return answer;
};
