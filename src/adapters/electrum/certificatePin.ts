import { hash } from "node:crypto";
import type { TLSSocket } from "node:tls";
import type { CertificatePins } from "../../ports/electrum.ts";

/** Shown instead of a key by servers whose certificate an authority vouches for: those change their keys every few months. */
const AUTHORITY = "authority";

/** Kept for a certificate that was accepted and shown. */
const USED = "used";

/** Why no authority vouches for a certificate (OpenSSL's names, and Node's for a name that does not fit). */
const REASONS: { readonly [code: string]: string } = {
  CERT_HAS_EXPIRED: "it has expired",
  CERT_NOT_YET_VALID: "it is not valid yet: check this machine's clock",
  DEPTH_ZERO_SELF_SIGNED_CERT: "it is signed by itself",
  SELF_SIGNED_CERT_IN_CHAIN: "it is signed by itself",
  ERR_TLS_CERT_ALTNAME_INVALID: "it is for another name",
  CERT_REVOKED: "it was revoked",
};

type Shown = {
  readonly pin: string;
  /** SHA-256 of the certificate, lower-case hex. */
  readonly fingerprint: string;
  /** Why no authority vouches for it, in brackets behind a space; empty: one does, or the reason says nothing to anybody. */
  readonly reason: string;
};

type Looked = {
  readonly why: string | null;
  /** Something else is known of the server. */
  readonly isNew: boolean;
  /** It is the accepted one, which was not used before. */
  readonly isFirstUse: boolean;
};

function shownBy(socket: TLSSocket): Shown | null {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return null;
  const fingerprint = certificate.fingerprint256.replaceAll(":", "").toLowerCase();
  if (socket.authorized) return { pin: AUTHORITY, fingerprint, reason: "" };
  const { authorizationError: said } = socket;
  const reason = REASONS[said instanceof Error ? said.message : said];
  const key = certificate.publicKey.export({ type: "spki", format: "der" });
  return { pin: `key ${hash("sha256", key, "hex")}`, fingerprint, reason: reason === undefined ? "" : ` (${reason})` };
}

/** The end of a sentence: what whoever knows better can do. */
const howToAccept = (fingerprint: string): string =>
  `It may be somebody else's; if its owner confirms it, enable the coin with "accept_certificate": "${fingerprint}" for this server`;

/** Judges the certificate of one server. `pins` are asked and written. */
export type CertificateJudge = {
  /** @returns what is wrong, the end of a sentence; null: nothing */
  readonly judge: (socket: TLSSocket) => Promise<string | null>;
  /**
   * Keeps what the judged one showed, once it has greeted as a server of the coin: whoever answers at its address without being one,
   * such as the login page of a public network, must not be the one that is known from then on.
   * @returns what is wrong by now, the end of a sentence; null: nothing, and what is to be known of it is durable
   */
  readonly keep: () => Promise<string | null>;
};

/**
 * Trust on first use, for one connection. A certificate an authority vouches for is good; another one is good when its key is the one the
 * server showed the first time. Once an authority vouched for a server, nothing less is taken. The one that is `accepted` is good whatever
 * was shown before, and its key is the one from then on; as long as a server was never connected, no other is. It counts once: it is stored
 * with the coin and named again at each start, and whoever holds its key must not pass after the server has got another certificate.
 *
 * @param accepted SHA-256 of a certificate, lower-case hex
 */
export function certificateJudge(server: string, pins: CertificatePins, accepted: string | undefined): CertificateJudge {
  let shown: Shown | null = null;
  const usedBy = `${server} accepted ${accepted ?? ""}`;

  async function look(now: Shown): Promise<Looked> {
    const { pin, fingerprint, reason } = now;
    const known = await pins.get(server);
    const isNamed = fingerprint === accepted;
    const isUsed = isNamed && (await pins.get(usedBy)) !== null;
    const good = { why: null, isNew: known !== pin, isFirstUse: isNamed && !isUsed };
    if (known === pin) return good;
    if (isUsed)
      return {
        ...good,
        why: `its certificate was accepted once and has been replaced since${reason}. Nothing but another certificate is taken again`,
      };
    if (!isNamed && pin !== AUTHORITY && (known !== null || accepted !== undefined)) return { ...good, why: refusal(now, known) };
    return good;
  }

  return {
    async judge(socket) {
      shown = shownBy(socket);
      return shown === null ? "it shows no certificate" : (await look(shown)).why;
    },
    async keep() {
      if (shown === null) return null;
      // Another connection may have kept something else meanwhile.
      const { why, isNew, isFirstUse } = await look(shown);
      if (why !== null) return why;
      if (isNew) await pins.set(server, shown.pin);
      // After the pin: a crash between the two leaves what is good.
      if (isFirstUse) await pins.set(usedBy, USED);
      return null;
    },
  };
}

function refusal({ fingerprint, reason }: Shown, known: string | null): string {
  if (known === null) return `its certificate is not the one that accept_certificate names. ${howToAccept(fingerprint)}`;
  return known === AUTHORITY
    ? `no authority vouches for its certificate any more${reason}. ${howToAccept(fingerprint)}`
    : `its certificate has another key than the first time${reason}. ${howToAccept(fingerprint)}`;
}
