import { parseTx as real, type TxFormat } from "../../src/core/utxo/txCodec.ts";
import { remembered } from "./remembered.ts";

export * from "../../src/core/utxo/txCodec.ts";

type Reading = { readonly format: TxFormat; readonly answer: ReturnType<typeof real> };

/** What a transaction's bytes were last read as. */
const readingOf = remembered((_bytes): { last: Reading | null } => ({ last: null }));

const isSame = (a: TxFormat, b: TxFormat): boolean => a === b || JSON.stringify(a) === JSON.stringify(b);

/** Every node reads what is in its mempool. */
export const parseTx: typeof real = (bytes, format) => {
  const reading = readingOf(bytes);
  if (reading.last && isSame(reading.last.format, format)) return reading.last.answer;
  const answer = real(bytes, format);
  reading.last = { format, answer };
  return answer;
};
