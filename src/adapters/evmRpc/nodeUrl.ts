import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";

const MAX_URL = 2_048;
/** Parts of an address with so many characters may be a key; shorter ones are words. */
const LEAST_KEY = 12;

/** Where a node listens. The URL's path may hold a provider's key: it is shown to nobody. */
export type NodeUrl = {
  readonly transport: "http" | "ws";
  /** Without user and password. */
  readonly url: URL;
  /** Empty: no login. */
  readonly user: string;
  readonly password: Secret<string>;
  /** Host and port: what people and logs see. */
  readonly name: string;
};

/**
 * Why a URL of an activation request cannot be used. KDF says `Invalid node address '<u>'. Only http(s) and ws(s) nodes are
 * supported`.
 */
export type BadNodeUrl = { readonly kind: "BadNodeUrl"; readonly reason: "not_a_url" | "scheme" | "login" };

export function parseNodeUrl(text: string): Result<NodeUrl, BadNodeUrl> {
  if (text.length > MAX_URL || !URL.canParse(text)) return err({ kind: "BadNodeUrl", reason: "not_a_url" });
  const url = new URL(text);
  const { protocol, host } = url;
  const transport = protocol === "http:" || protocol === "https:" ? "http" : protocol === "ws:" || protocol === "wss:" ? "ws" : null;
  if (transport === null || host === "") return err({ kind: "BadNodeUrl", reason: "scheme" });
  let user: string;
  let password: string;
  try {
    user = decodeURIComponent(url.username);
    password = decodeURIComponent(url.password);
  } catch (cause) {
    if (cause instanceof URIError) return err({ kind: "BadNodeUrl", reason: "login" });
    throw cause;
  }
  url.username = "";
  url.password = "";
  return ok({ transport, url, user, password: new Secret(password), name: host });
}

/** Takes out of a text what in the node's address may be a key, with `%` signs or without: a provider's error may repeat it. */
export function withoutKeys({ url, user, password }: NodeUrl): (text: string) => string {
  const query = url.search.slice(1);
  const written = [...url.pathname.split("/"), ...query.split(/[&=]/), query];
  const parts = [...written, ...written.map(plain), user].filter((part) => part.length >= LEAST_KEY);
  const secret = password.reveal();
  const keys = [...parts, ...(secret === "" ? [] : [secret])].sort((a, b) => b.length - a.length);
  return (text) => keys.reduce((rest, key) => rest.replaceAll(key, "***"), text);
}

function plain(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (cause) {
    if (cause instanceof URIError) return part;
    throw cause;
  }
}
