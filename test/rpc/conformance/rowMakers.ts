import type { Json } from "../../../src/rpc/parseJson.ts";
import type { Entry, Expected, Row } from "./row.ts";

type Fields = { readonly [key: string]: Json };
/** What a failure states beyond its kind and text. */
export type Failing = {
  readonly status?: number;
  readonly type?: string;
  readonly data?: Expected;
  readonly note?: string;
  readonly path?: string;
  readonly extra?: { readonly [key: string]: Expected };
};

/** Makes rows of calls that succeed, on one kind of node and in one style. */
export const calls =
  (on: Row["on"], style: Row["style"]) =>
  (method: string, params: Fields, result: Expected, more: Partial<Pick<Row, "keep" | "note">> = {}): Entry => ({
    on,
    method,
    style,
    params,
    result,
    ...more,
  });

/** Makes rows of calls that are refused. `error`: the kind the method declares. */
export const refusals =
  (on: Row["on"], style: Row["style"]) =>
  (method: string, params: Fields, error: string, text: string, more: Failing = {}): Entry => ({
    on,
    method,
    style,
    params,
    error,
    text,
    ...more,
  });
