import { isIP } from "node:net";

export type GateOptions = {
  /** `rpcip`: the address the server listens on. */
  readonly listenIp: string;
  /** `alt_names`: further names this node may be called by. */
  readonly altNames: readonly string[];
  /** `rpccors` (or its default): the one origin whose pages may call; `*` lets every page call. */
  readonly corsOrigin: string;
};

export const LOOPBACK_NAMES = ["localhost", "127.0.0.1", "::1"];

/**
 * Why a request must not reach the RPC at all; undefined = let it in. Runs before the body is read.
 *
 * Host: a page of another site can point its own name at 127.0.0.1 (DNS rebinding) and then talks "to itself"; the name
 * it uses gives it away. Origin: browsers name the calling page in it, programs send none.
 */
export function refusal(
  headers: { readonly host?: string | undefined; readonly origin?: string | undefined },
  options: GateOptions,
): string | undefined {
  if (!isOwnName(hostName(headers.host), options)) {
    const names = [...LOOPBACK_NAMES, ...options.altNames].join(", ");
    return `The Host header does not name this node (${names}); add the name you use to "alt_names" in the configuration`;
  }
  if (headers.origin !== undefined && options.corsOrigin !== "*" && headers.origin !== options.corsOrigin) {
    return `Web pages of this origin may not call this node; set "rpccors" in the configuration to the origin you trust`;
  }
  return undefined;
}

/** Host header without the port; lower case, IPv6 without brackets. Undefined when unreadable. */
function hostName(host: string | undefined): string | undefined {
  const m = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/i.exec(host ?? "");
  return (m?.[1] ?? m?.[2])?.toLowerCase();
}

function isOwnName(name: string | undefined, { listenIp, altNames }: GateOptions): boolean {
  if (name === undefined) return false;
  if (LOOPBACK_NAMES.includes(name) || name === listenIp.toLowerCase()) return true;
  if (altNames.some((alt) => alt.toLowerCase() === name)) return true;
  // Listening on every address: any of them may be used. A rebinding page needs a name, it cannot use a number.
  return isUnspecified(listenIp) && isIP(name) !== 0;
}

/** Stands for every address of the machine, and names none. */
export const isUnspecified = (ip: string): boolean => ip === "0.0.0.0" || ip === "::";
