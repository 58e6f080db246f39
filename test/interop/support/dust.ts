import { toHex } from "../../../src/core/util/bytes.ts";
import { addressText } from "../../../src/core/utxo/address.ts";
import { hash160 } from "../../../src/core/utxo/hash.ts";
import { p2shScript } from "../../../src/core/utxo/outputScript.ts";
import { pushBytes } from "../../../src/core/utxo/script.ts";
import type { Tx } from "../../../src/core/utxo/tx.ts";
import { serializeTx } from "../../../src/core/utxo/txCodec.ts";
import { SEQUENCE_FINAL } from "../../../src/core/utxo/txTemplate.ts";
import { LTC, type RegtestChain } from "./regtestChains.ts";

type Coin = { readonly txid: string; readonly vout: number };

const OP_TRUE = 0x51;
/** Anybody may spend what is paid to it: whoever makes thousands of payments signs none of them. */
const ANYBODY = Uint8Array.of(OP_TRUE);
const ANYBODYS_ADDRESS = addressText(
  { kind: "p2sh", hash: hash160(ANYBODY) },
  {
    p2pkhPrefix: Uint8Array.of(LTC.pubtype),
    p2shPrefix: Uint8Array.of(LTC.p2shtype),
    hrp: null,
    segwit: false,
    cashPrefix: null,
    format: "standard",
  },
);
/** Base units. Litecoin's nodes call less than 5,460 dust. */
const DUST = 6_000n;
const FEE = 1_000n;
/** More make a transaction too large to be passed on. */
const MOST_OUTPUTS = 2_500;
const FUNDS = "1";
/** The daemon serves so many at once. */
const AT_ONCE = 4;

const spend = (txid: string, vout: number, outputs: Tx["outputs"]): Tx => ({
  version: 2,
  inputs: [{ txid, vout, scriptSig: pushBytes(ANYBODY), sequence: SEQUENCE_FINAL, witness: [] }],
  outputs,
  lockTime: 0,
});

/** Transactions that pay dust to any script, one history line each, ready to be made at once. */
export class DustPurse {
  readonly #chain: RegtestChain;
  readonly #coins: readonly Coin[];

  private constructor(chain: RegtestChain, coins: readonly Coin[]) {
    this.#chain = chain;
    this.#coins = coins;
  }

  static async open(chain: RegtestChain, count: number): Promise<DustPurse> {
    const coins: Coin[] = [];
    while (coins.length < count) {
      const outputs = Array.from({ length: Math.min(MOST_OUTPUTS, count - coins.length) }, () => ({
        value: DUST + FEE,
        script: p2shScript(hash160(ANYBODY)),
      }));
      const paid = await payAnybody(chain);
      const txid = await send(chain, spend(paid.txid, paid.vout, outputs));
      for (const vout of outputs.keys()) coins.push({ txid, vout });
    }
    await chain.mine(1);
    return new DustPurse(chain, coins);
  }

  /** Pays dust to a script in as many transactions as there are, without a block of their own. */
  async payAll(script: Uint8Array): Promise<void> {
    const left = [...this.#coins];
    const worker = async (): Promise<void> => {
      for (let coin = left.pop(); coin; coin = left.pop()) await send(this.#chain, spend(coin.txid, coin.vout, [{ value: DUST, script }]));
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
}

const send = async (chain: RegtestChain, tx: Tx): Promise<string> =>
  String(await chain.daemon.call("sendrawtransaction", [toHex(serializeTx(tx)), 0]));

/** @returns an output that anybody may spend, in a block */
async function payAnybody(chain: RegtestChain): Promise<Coin> {
  await chain.fund(ANYBODYS_ADDRESS, FUNDS);
  const wanted = toHex(p2shScript(hash160(ANYBODY)));
  for (let height = Number(await chain.daemon.call("getblockcount")); height > 0; height--) {
    const block = (await chain.daemon.call("getblock", [await chain.daemon.call("getblockhash", [height]), 2])) as {
      tx: readonly { txid: string; vout: readonly { n: number; value: number; scriptPubKey: { hex: string } }[] }[];
    };
    for (const { txid, vout } of block.tx)
      for (const { n, value, scriptPubKey } of vout) if (scriptPubKey.hex === wanted && value === Number(FUNDS)) return { txid, vout: n };
  }
  throw new Error("the payment is in no block");
}
