import { COINBASE_MATURITY } from "../../src/chain/chainParams.ts";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import type { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { faucetKey } from "../../src/chain/faucet.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { signInputs } from "../../src/core/utxo/signInput.ts";
import type { TxOutput } from "../../src/core/utxo/tx.ts";
import { draftTx, SEQUENCE_FINAL } from "../../src/core/utxo/txTemplate.ts";

/** Outputs of one funding transaction. */
const OUTPUTS_PER_TX = 500;

/** Coinbases a chain needs before it can give away so many base units. */
export const blocksToFund = (units: bigint, subsidy: (height: number) => bigint): number => {
  let height = 0;
  for (let sum = 0n; sum < units; ) sum += subsidy(++height);
  return height + COINBASE_MATURITY + 1;
};

/** Pays all outputs from the faucet's mature coins in blocks of their own, without fees. */
export function fundAll(chain: EmbeddedChain, outputs: readonly TxOutput[]): void {
  const key = faucetKey();
  for (let at = 0; at < outputs.length; at += OUTPUTS_PER_TX) {
    const paid = outputs.slice(at, at + OUTPUTS_PER_TX);
    const wanted = paid.reduce((n, o) => n + o.value, 0n);
    const height = chain.state.tip.height + 1;
    const coins = chain.state.coins
      .ofScript(toHex(chain.faucetScript))
      .filter((c) => !c.coinbase || height - c.height >= COINBASE_MATURITY);
    const picked: (typeof coins)[number][] = [];
    let sum = 0n;
    for (const coin of coins) {
      if (sum >= wanted) break;
      picked.push(coin);
      sum += coin.value;
    }
    if (sum < wanted) throw new Error(`the faucet of ${chain.params.ticker} has ${sum} of ${wanted} units`);
    const change = sum > wanted ? [{ value: sum - wanted, script: chain.faucetScript }] : [];
    const inputs = picked.map(({ txid, vout }) => ({ txid, vout, scriptSig: new Uint8Array(0), sequence: SEQUENCE_FINAL, witness: [] }));
    const draft = draftTx(chain.params.template, { inputs, outputs: [...paid, ...change], lockTime: 0 });
    const mined = chain.mineExactly(chain.faucetScript, [txToChainTx(signInputs(draft, picked, key, chain.params.scheme))]);
    if (!mined.ok) throw new Error(`funding ${chain.params.ticker}: ${mined.error.reason}`);
  }
}
