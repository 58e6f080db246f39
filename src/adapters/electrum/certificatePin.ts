import { hash } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { CertificatePins } from "../../ports/electrum.ts";

/** Shown instead of a key by servers whose certificate an authority vouches for: those change their keys every few months. */
const AUTHORITY = "authority";

function shownBy(socket: TLSSocket): string | null {
  if (socket.authorized) return AUTHORITY;
  const key = socket.getPeerX509Certificate()?.publicKey.export({ type: "spki", format: "der" });
  return key === undefined ? null : `key ${hash("sha256", key, "hex")}`;
}

/**
 * Trust on first use. A certificate an authority vouches for is good; another one is good when its key is the one the server
 * showed the first time. Once an authority vouched for a server, nothing less is taken.
 *
 * @returns what is wrong, the end of a sentence; null: nothing
 */
export async function judgeCertificate(socket: TLSSocket, server: string, pins: CertificatePins): Promise<string | null> {
  const shown = shownBy(socket);
  if (shown === null) return "it shows no certificate";
  const known = await pins.get(server);
  if (known === shown) return null;
  if (known === null || shown === AUTHORITY) {
    await pins.set(server, shown);
    return null;
  }
  return known === AUTHORITY
    ? "no authority vouches for its certificate any more: it may be somebody else's"
    : "its certificate has another key than the first time: it may be somebody else's";
}
