import { NONCE_BYTES, openText, sealText } from "../../core/crypto/sealedText.ts";
import { parseHex, toHex } from "../../core/util/bytes.ts";
import { err, type Result } from "../../core/util/result.ts";
import type { Secret } from "../../core/util/secret.ts";
import type { Rng } from "../../ports/rng.ts";

/** Both in hex. */
type Box = { readonly nonce: string; readonly sealed: string };

/** Seals what activations name in secret under a key of the wallet. A box opens beside the coin it was closed for alone. */
export class ActivationSeal {
  readonly #key: Secret<Uint8Array>;
  readonly #rng: Rng;

  /** @param key 32 bytes, used for nothing else */
  constructor(key: Secret<Uint8Array>, rng: Rng) {
    this.#key = key;
    this.#rng = rng;
  }

  close(coin: string, text: string): Box {
    const nonce = this.#rng.bytes(NONCE_BYTES);
    return { nonce: toHex(nonce), sealed: sealText(this.#key.reveal(), nonce, contextOf(coin), text) };
  }

  open(coin: string, { nonce, sealed }: Box): Result<string, { readonly kind: "NotOpened" }> {
    const bytes = parseHex(nonce);
    return bytes.ok ? openText(this.#key.reveal(), bytes.value, contextOf(coin), sealed) : err({ kind: "NotOpened" });
  }
}

const contextOf = (coin: string): string => `swapnode-activation:2:${coin}`;
