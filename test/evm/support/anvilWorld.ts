import type { EvmBackend } from "../../../src/adapters/evmRpc/evmNode.ts";
import { type EvmRpcOptions, openEvmRpcChain } from "../../../src/adapters/evmRpc/evmRpcChain.ts";
import { createDaemonClient } from "../../../src/adapters/jsonRpc/daemonClient.ts";
import { createSystemClock } from "../../../src/adapters/system/systemClock.ts";
import { encodeWords } from "../../../src/core/evm/abi.ts";
import { addressOfPubkey, type EvmAddress, parseAnyCaseAddress } from "../../../src/core/evm/address.ts";
import { SWAPNODE_SWAP_CREATION_CODE } from "../../../src/core/evm/contract/swapnodeSwap.ts";
import { TEST_TOKEN_CREATION_CODE } from "../../../src/core/evm/contract/testToken.ts";
import { signEvmTx } from "../../../src/core/evm/signTx.ts";
import type { SignedEvmTx } from "../../../src/core/evm/tx.ts";
import { type KeyPair, keyPairFromScalar } from "../../../src/core/keys/keyPair.ts";
import { concatBytes, fromHex, toHex } from "../../../src/core/util/bytes.ts";
import { Secret } from "../../../src/core/util/secret.ts";
import type { AccountChain } from "../../../src/ports/accountChain.ts";
import type { DaemonRpc } from "../../../src/ports/daemonRpc.ts";
import { SilentLog } from "../../fakes/silentLog.ts";
import type { Anvil } from "../../support/anvil.ts";

export const CHAIN_ID = 31_337n;
const GAS = 3_000_000n;
const GWEI = 1_000_000_000n;

/** A backend over real sockets. */
export function httpBackend(url: string, clock = createSystemClock()): EvmBackend {
  const parsed = new URL(url);
  const client = createDaemonClient({ url: parsed, user: "", password: new Secret(""), what: "node" }, clock, {
    version: "2.0",
    maxAnswerBytes: 40_000_000,
  });
  return { name: parsed.host, rpc: client, close: () => client.close() };
}

/** A chain over these URLs. Polls so seldom that only `refresh` and watches look. */
export function openChain(urls: readonly string[], options: EvmRpcOptions = {}): AccountChain {
  const clock = createSystemClock();
  return openEvmRpcChain({
    ticker: "ETH",
    chainId: CHAIN_ID,
    backends: urls.map((url) => httpBackend(url, clock)),
    clock,
    log: new SilentLog(),
    options: { pollMs: 600_000, leastMs: 1, ...options },
  });
}

/** What a chain over one node needs, and the requests that were made. */
export function countedBackend(url: string) {
  const clock = createSystemClock();
  const { rpc, ...rest } = httpBackend(url, clock);
  let requests = 0;
  const counted: DaemonRpc = {
    call(...args) {
      requests++;
      return rpc.call(...args);
    },
    callBatch(...args) {
      requests++;
      return rpc.callBatch?.(...args) ?? Promise.reject(new Error("no batches"));
    },
  };
  const deps = { ticker: "ETH", chainId: CHAIN_ID, backends: [{ ...rest, rpc: counted }], clock, log: new SilentLog() };
  return { deps, requests: (): number => requests };
}

export type Party = { readonly key: KeyPair; readonly address: EvmAddress };

export type Sending = { readonly to: EvmAddress | null; readonly value?: bigint; readonly data?: Uint8Array; readonly gasLimit?: bigint };

/** What tests do with an anvil beside the chain under test. */
export class AnvilWorld {
  readonly anvil: Anvil;
  readonly parties: readonly Party[];

  constructor(anvil: Anvil) {
    this.anvil = anvil;
    this.parties = anvil.accounts.map(({ privateKey }) => {
      const key = keyPairFromScalar(fromHex(privateKey.slice(2)));
      if (key === null) throw new Error("anvil gave a bad key");
      return { key, address: addressOfPubkey(key.publicKey) };
    });
  }

  party(n: number): Party {
    const party = this.parties[n];
    if (party === undefined) throw new Error(`there is no account ${n}`);
    return party;
  }

  /** Signed with the next nonce and a price far above the base fee; not sent. */
  async signed(from: Party, { to, value = 0n, data = new Uint8Array(0), gasLimit = GAS }: Sending, ahead = 0n): Promise<SignedEvmTx> {
    const nonce = BigInt(String(await this.anvil.call("eth_getTransactionCount", [`0x${from.address}`, "latest"]))) + ahead;
    const price = { maxFeePerGas: 50n * GWEI, maxPriorityFeePerGas: GWEI, accessList: [] };
    return signEvmTx({ type: "eip1559", chainId: CHAIN_ID, nonce, gasLimit, to, value, data, ...price }, from.key);
  }

  /** Sent, and in a block: anvil mines at once, and yet a moment after its answer. */
  async send(from: Party, sending: Sending): Promise<SignedEvmTx> {
    const tx = await this.signed(from, sending);
    await this.anvil.call("eth_sendRawTransaction", [`0x${toHex(tx.raw)}`]);
    await this.mined(tx.txid);
    return tx;
  }

  /** The receipt of a transaction that was sent, as soon as there is one. */
  async mined(txid: string): Promise<{ readonly contractAddress: string | null }> {
    for (let tries = 0; tries < 1_000; tries++) {
      const receipt = await this.anvil.call("eth_getTransactionReceipt", [`0x${txid}`]);
      if (receipt !== null) return receipt as { contractAddress: string | null };
    }
    throw new Error(`${txid} was not mined`);
  }

  async deploy(from: Party, code: Uint8Array): Promise<EvmAddress> {
    const { txid } = await this.send(from, { to: null, data: code });
    const { contractAddress } = await this.mined(txid);
    const address = parseAnyCaseAddress(contractAddress ?? "");
    if (!address.ok) throw new Error("nothing was deployed");
    return address.value;
  }

  deploySwapContract(from: Party): Promise<EvmAddress> {
    return this.deploy(from, fromHex(SWAPNODE_SWAP_CREATION_CODE));
  }

  /** A token of which `from` has `supply`. */
  deployToken(from: Party, supply: bigint, decimals = 6n): Promise<EvmAddress> {
    const text = (word: string): Uint8Array =>
      concatBytes(encodeWords(["uint256"], [BigInt(word.length)]), Buffer.from(word.padEnd(32, "\0")));
    const head = encodeWords(["uint256", "uint256", "uint256", "uint256"], [128n, 192n, decimals, supply]);
    return this.deploy(from, concatBytes(fromHex(TEST_TOKEN_CREATION_CODE), head, text("Test token"), text("TEST")));
  }

  mine(blocks = 1): Promise<unknown> {
    return this.anvil.call("anvil_mine", [`0x${blocks.toString(16)}`]);
  }
}
