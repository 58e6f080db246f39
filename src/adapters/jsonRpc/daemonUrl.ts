import { err, ok, type Result } from "../../core/util/result.ts";
import { Secret } from "../../core/util/secret.ts";
import type { DaemonEndpoint } from "./daemonEndpoint.ts";

const MAX_URL = 2_048;

/** Why an `rpc_url` cannot be used, to stand behind that name. Never holds the text itself, which may carry a password. */
export type BadDaemonUrl = { readonly kind: "BadDaemonUrl"; readonly detail: string };

/**
 * Endpoint from explicit settings. Credentials may stand in the URL (`http://user:pass@host:port`); those given
 * beside it win.
 */
export function parseDaemonUrl(rpcUrl: string, rpcUser?: string, rpcPassword?: string): Result<DaemonEndpoint, BadDaemonUrl> {
  const bad = (detail: string): Result<never, BadDaemonUrl> => err({ kind: "BadDaemonUrl", detail });
  if (rpcUrl.length > MAX_URL || !URL.canParse(rpcUrl)) return bad("not a URL");
  const url = new URL(rpcUrl);
  if (url.protocol !== "http:" && url.protocol !== "https:") return bad("must begin with http:// or https://");
  let user: string;
  let password: string;
  try {
    user = rpcUser ?? decodeURIComponent(url.username);
    password = rpcPassword ?? decodeURIComponent(url.password);
  } catch (cause) {
    if (cause instanceof URIError) return bad("its user or password is not percent-encoded");
    throw cause;
  }
  url.username = "";
  url.password = "";
  if (user === "" || password === "") return bad("rpc_user or rpc_password is missing");
  return ok({ url, user, password: new Secret(password) });
}
