import type { EvmEnableError } from "../evmParts.ts";

/** The adapter's own bound. */
const MAX_URLS = 32;
/** Characters of a refused address that are shown. */
const MAX_SHOWN = 100;

/** Of an address that cannot be used: without login, path and query, which may hold a provider's key. */
function shownUrl(text: string): string {
  const [, scheme = "", rest = ""] = /^([a-z0-9+.-]{0,20}:\/\/)?(.*)$/is.exec(text) ?? [];
  const authority = rest.replace(/[/?#].*$/s, "");
  const host = authority.slice(authority.lastIndexOf("@") + 1).slice(0, MAX_SHOWN);
  return `${scheme}${host}${authority === rest ? "" : "/..."}`;
}

export function badUrl(urls: readonly string[], index: number): EvmEnableError {
  const url = shownUrl(urls[index] ?? "");
  return { kind: "BadAccountNodes", reason: `Invalid node address '${url}'. Only http(s) and ws(s) nodes are supported` };
}

/** Their order says nothing. */
export const sameNodes = (a: readonly string[], b: readonly string[]): boolean =>
  a.every((url) => b.includes(url)) && b.every((url) => a.includes(url));

/** KDF's words for what `urls` lacks (rpc.md 5.1); null: it can be tried. */
export function badUrls(urls: readonly string[] | undefined): string | null {
  if (urls === undefined) return "invalid type: null, expected a sequence";
  if (urls.length === 0) return "Enable request for ETH coin must have at least 1 node URL";
  return urls.length > MAX_URLS ? `${urls.length} node URLs; at most ${MAX_URLS} are used` : null;
}
