import { decodeWords, encodeWords, WORD_BYTES } from "../../core/evm/abi.ts";
import { addressBytes, type EvmAddress } from "../../core/evm/address.ts";
import { concatBytes, fromHex } from "../../core/util/bytes.ts";
import type { TokenState } from "../../ports/accountChain.ts";
import { tokenKey } from "./chainView.ts";
import type { EvmNode, NodeAnswer } from "./evmNode.ts";
import { type LookFault, saysNothing } from "./fault.ts";
import { initCodeQuery, tokenBalanceQuery } from "./query.ts";
import { isRevert, type Quorum } from "./quorum.ts";

/**
 * Init code that asks each of the tokens that stand behind it for the balance of the owner behind it, and returns for each a
 * word that says whether the token answered (1) and a word with the balance. `eth_call` runs it and nothing is deployed, so
 * it needs no helper contract on the chain. Assembled by hand, without PUSH0, which older chains lack.
 */
const READER = fromHex(
  [
    "6370a0823160e01b600052", // PUSH4 balanceOf(address), PUSH1 224, SHL, PUSH1 0, MSTORE: the call's data begins at memory 0
    "60206050600439", // PUSH1 32, PUSH1 80, PUSH1 4, CODECOPY: the owner, behind these 80 bytes, to behind the selector
    "60706060", // PUSH1 112, PUSH1 96: where the next token stands in the code, and where the next answer goes
    "5b", // byte 22: JUMPDEST
    "38821015604857", // CODESIZE, DUP3, LT, ISZERO, PUSH1 72, JUMPI: no token left
    "601482604c39", // PUSH1 20, DUP3, PUSH1 76, CODECOPY: the token into the word at memory 64
    "602081602001602460006040", // outSize 32, outOffset answer + 32, inSize 36, inOffset 0, PUSH1 64
    "5162030d40fa", // MLOAD, PUSH3 200000, STATICCALL: one token cannot use up the gas of all
    "601f3d11168152", // PUSH1 31, RETURNDATASIZE, GT, AND, DUP2, MSTORE: it succeeded and returned a word
    "604001", // PUSH1 64, ADD: the next answer
    "9060140190", // SWAP1, PUSH1 20, ADD, SWAP1: the next token
    "601656", // PUSH1 22, JUMP
    "5b606090036060f3", // byte 72: JUMPDEST, PUSH1 96, SWAP1, SUB, PUSH1 96, RETURN
  ].join(""),
);

/** What init code returns may have 24 576 bytes (EIP-170): 64 for each token. */
const TOKENS_PER_CALL = 250;

/** `unread`: tokens of which no majority said anything, by key, and why, a fault of the nodes; null: there are none. */
export type TokenRead = {
  readonly states: ReadonlyMap<string, TokenState>;
  readonly unread: ReadonlySet<string>;
  readonly fault: LookFault | null;
};
type Owned = { readonly token: EvmAddress; readonly owner: EvmAddress };

/** One call of the reader: an owner and up to 250 tokens. */
type Portion = { readonly owner: EvmAddress; readonly tokens: readonly EvmAddress[] };

function portions(watched: Iterable<Owned>): Portion[] {
  const byOwner = new Map<EvmAddress, EvmAddress[]>();
  for (const { token, owner } of watched) {
    const tokens = byOwner.get(owner);
    if (tokens === undefined) byOwner.set(owner, [token]);
    else tokens.push(token);
  }
  return [...byOwner].flatMap(([owner, tokens]) =>
    Array.from({ length: Math.ceil(tokens.length / TOKENS_PER_CALL) }, (_, i) => ({
      owner,
      tokens: tokens.slice(i * TOKENS_PER_CALL, (i + 1) * TOKENS_PER_CALL),
    })),
  );
}

const readerCode = ({ owner, tokens }: Portion): Uint8Array =>
  concatBytes(READER, encodeWords(["address"], [owner]), ...tokens.map(addressBytes));

/** Balances of the tokens that answered; null when the answer is not one of the reader. */
function readerAnswer({ tokens }: Portion, answer: Uint8Array): readonly (bigint | null)[] | null {
  if (answer.length !== tokens.length * 2 * WORD_BYTES) return null;
  const balances: (bigint | null)[] = [];
  for (let at = 0; at < answer.length; at += 2 * WORD_BYTES) {
    // What a token that failed left in the second word means nothing.
    const flag = decodeWords(answer.subarray(at, at + WORD_BYTES), ["bool"]);
    const balance = decodeWords(answer.subarray(at + WORD_BYTES, at + 2 * WORD_BYTES), ["uint256"]);
    if (!flag.ok || !balance.ok) return null;
    balances.push(flag.value[0] ? balance.value[0] : null);
  }
  return balances;
}

/** Null: the token does not answer as one must. Undefined: the node did not ask it. */
type Told = bigint | null | undefined;
type Found = readonly { readonly portion: Portion; readonly balances: readonly Told[] }[];

async function byInitCode(node: EvmNode, wanted: readonly Portion[], quorum: Quorum, signal: AbortSignal): Promise<Found | null> {
  const answers = await node.askAt(
    wanted.map((portion) => initCodeQuery(readerCode(portion))),
    quorum.block,
    quorum.timeoutMs,
    signal,
  );
  if (answers === "moved") return null;
  const found = wanted.map((portion, i) => {
    const answer = answers[i];
    return { portion, balances: answer?.ok ? readerAnswer(portion, answer.value) : null };
  });
  // A node that answers, and not this, will not do it at the next look either; one that is asked too often would be asked far more.
  const isSilent = answers.some((answer) => !answer.ok && saysNothing(answer.error));
  if (node.state !== "away" && !isSilent && found.some(({ balances }) => balances === null)) node.cannotRunInitCode();
  return found.flatMap(({ portion, balances }) => (balances === null ? [] : { portion, balances }));
}

async function oneByOne(node: EvmNode, wanted: readonly Portion[], quorum: Quorum, signal: AbortSignal): Promise<Found | null> {
  const queries = wanted.flatMap(({ owner, tokens }) => tokens.map((token) => tokenBalanceQuery(token, owner)));
  const answers = await node.askAt(queries, quorum.block, quorum.timeoutMs, signal);
  if (answers === "moved") return null;
  let next = 0;
  return wanted.map((portion) => ({ portion, balances: portion.tokens.map(() => told(answers[next++])) }));
}

/** A node that has no time, or limits how often it is asked, says nothing of a token: taken for its answer that would empty the account. */
function told(answer: NodeAnswer<Uint8Array> | undefined): Told {
  if (!answer?.ok) return answer && isRevert(answer.error) ? null : undefined;
  const word = decodeWords(answer.value.subarray(0, WORD_BYTES), ["uint256"]);
  return word.ok ? word.value[0] : null;
}

/** What one node says of the portions; those it gave no answer for are left out. */
async function askNode(node: EvmNode, wanted: readonly Portion[], quorum: Quorum, signal: AbortSignal): Promise<Found> {
  const found = node.runsInitCode ? ((await byInitCode(node, wanted, quorum, signal)) ?? []) : [];
  const rest = wanted.filter((portion) => !found.some((f) => f.portion === portion));
  if (rest.length === 0 || node.state === "away") return found;
  return [...found, ...((await oneByOne(node, rest, quorum, signal)) ?? [])];
}

type Vote = { readonly balance: bigint | null; readonly nodes: readonly EvmNode[] };

/** What the nodes say of each token, and whether `need` of them say the same. */
class Ballots {
  readonly #need: number;
  readonly #votes = new Map<string, Map<bigint | null, EvmNode[]>>();

  constructor(need: number) {
    this.#need = need;
  }

  take(node: EvmNode, found: Found): void {
    for (const { portion, balances } of found) {
      for (const [i, token] of portion.tokens.entries()) {
        const balance = balances[i];
        if (balance === undefined) continue;
        const key = tokenKey(token, portion.owner);
        const votes = this.#votes.get(key) ?? new Map<bigint | null, EvmNode[]>();
        this.#votes.set(key, votes.set(balance, [...(votes.get(balance) ?? []), node]));
      }
    }
  }

  of(owner: EvmAddress, token: EvmAddress): readonly Vote[] {
    return [...(this.#votes.get(tokenKey(token, owner)) ?? [])].map(([balance, nodes]) => ({ balance, nodes }));
  }

  winner(votes: readonly Vote[]): Vote | undefined {
    return votes.find(({ nodes }) => nodes.length >= this.#need);
  }

  isOpen({ owner, tokens }: Portion): boolean {
    return tokens.some((token) => this.winner(this.of(owner, token)) === undefined);
  }
}

/**
 * Balances of all watched tokens at the block of a quorum, as a majority of its nodes says. 500 tokens are two calls in one
 * request to each. A token of which a majority says that it does not answer has none.
 */
export async function readTokens(quorum: Quorum, watched: Iterable<Owned>, signal: AbortSignal): Promise<TokenRead> {
  const { need } = quorum;
  const all = portions(watched);
  const ballots = new Ballots(need);
  const queue = [...quorum.nodes].sort((a, b) => a.cost - b.cost);
  let open: readonly Portion[] = all;
  for (let wave = queue.splice(0, need); wave.length > 0 && open.length > 0; wave = queue.splice(0, 1)) {
    const asked = open;
    const found = await Promise.all(wave.map((node) => askNode(node, asked, quorum, signal)));
    for (const [i, node] of wave.entries()) ballots.take(node, found[i] ?? []);
    open = open.filter((portion) => ballots.isOpen(portion));
  }
  const states = new Map<string, TokenState>();
  const unread = new Set<string>();
  for (const { owner, tokens } of all) {
    for (const token of tokens) {
      const votes = ballots.of(owner, token);
      const winner = ballots.winner(votes);
      if (winner === undefined) {
        unread.add(tokenKey(token, owner));
        continue;
      }
      if (winner.balance !== null) states.set(tokenKey(token, owner), { block: quorum.block, balance: winner.balance });
      // A node that could not ask a token does not lie about it.
      for (const vote of votes) if (vote !== winner && vote.balance !== null) for (const node of vote.nodes) node.contradicted(WHAT);
    }
  }
  return { states, unread, fault: open.length === 0 ? null : undecided(open, ballots, quorum) };
}

const WHAT = "token balances";

function undecided(open: readonly Portion[], ballots: Ballots, { nodes, need }: Quorum): LookFault {
  const votes = open.flatMap(({ owner, tokens }) => tokens.map((token) => ballots.of(owner, token)));
  const split = votes.find((on) => on.length > 1 && ballots.winner(on) === undefined);
  if (split) return { kind: "disagree", what: WHAT, nodes: split.flatMap((vote) => vote.nodes.map(({ name }) => name)) };
  const have = Math.min(...votes.map((on) => on[0]?.nodes.length ?? 0));
  return { kind: "too_few", what: WHAT, have, need, troubles: nodes.flatMap((node) => node.trouble ?? []) };
}
