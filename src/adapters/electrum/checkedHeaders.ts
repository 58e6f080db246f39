import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import { anchorAt, type Checked, extend, type HeaderLimits, rewind, tipOf } from "../../core/proof/headerChain.ts";
import type { HeaderFault } from "../../core/proof/headerFault.ts";
import type { HeaderRules } from "../../core/proof/headerRules.ts";
import { ok } from "../../core/util/result.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Look } from "./fault.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Work is counted from the anchor on: only chains with the same one can be compared. `anchor`: its hash. */
export type Anchored = { readonly checked: Checked; readonly anchor: string };

export type CheckedHeadersDeps = {
  readonly rules: HeaderRules;
  readonly index: ChainIndex;
  readonly reader: HeaderReader;
  readonly clock: Clock;
};

/** The headers of the chain that is followed as they were checked, and what others make on top of them. */
export class CheckedHeaders {
  readonly #deps: CheckedHeadersDeps;
  /** Up to the last header that was checked; null: a restart forgot it, or there is none. */
  now: Anchored | null = null;

  constructor(deps: CheckedHeadersDeps) {
    this.#deps = deps;
  }

  /** Against our clock, or that of most servers' blocks where ours is behind: then ours is the wrong one. */
  limits(servers: readonly RemoteServer[]): HeaderLimits {
    const times = servers.flatMap((s) => s.tip?.header.timeSec ?? []).sort((a, b) => a - b);
    const agreed = times[Math.floor((times.length - 1) / 2)] ?? 0;
    return { nowSec: Math.max(Math.floor(this.#deps.clock.nowMs() / 1000), agreed) };
  }

  /** What headers from the anchor on make, or what is wrong with them. */
  anchored(headers: readonly BlockHeader[], from: number, limits: HeaderLimits): Anchored | string {
    const { rules } = this.#deps;
    const [first, ...rest] = headers;
    const anchor = first && anchorAt(first, from, rules, limits);
    if (first === undefined || !anchor?.ok) return "its headers do not show the work they claim";
    const checked = extend(anchor.value, rest, rules, limits);
    return checked.ok ? { checked: checked.value, anchor: first.hash } : brokenRule(checked.error);
  }

  /** The same of headers after checked ones. */
  extended(base: Anchored, headers: readonly BlockHeader[], limits: HeaderLimits): Anchored | string {
    const checked = extend(base.checked, headers, this.#deps.rules, limits);
    return checked.ok ? { ...base, checked: checked.value } : brokenRule(checked.error);
  }

  /** Our chain with its work, which a restart forgets. Null: nobody gives its headers now. */
  async own(servers: readonly RemoteServer[]): Promise<Anchored | null> {
    const own = this.#deps.index.tipHeader;
    const chain = own && (await this.at(own.height, servers, this.limits(servers)));
    return chain?.ok ? chain.value : null;
  }

  /** Our chain as it was at a height; null where it is not known with its work any more. */
  rewound(height: number): Anchored | null {
    if (this.now === null) return null;
    const checked = rewind(this.now.checked, height, this.#deps.rules);
    return checked && { ...this.now, checked };
  }

  /** Our chain up to `height`; read again where only its hashes are still known. */
  async at(height: number, servers: readonly RemoteServer[], limits: HeaderLimits): Promise<Look<Anchored>> {
    const { index, reader } = this.#deps;
    const hash = index.headerAt(height)?.hash ?? "";
    const kept = this.rewound(height);
    if (kept !== null && tipOf(kept.checked).hash === hash) return ok(kept);
    const from = index.windowBottom;
    const run = await reader.run({ height, hash, servers }, from, height, (headers) => this.anchored(headers, from, limits));
    if (!run.ok) return run;
    this.now ??= run.value.value;
    return ok(run.value.value);
  }
}

const brokenRule = ({ kind }: HeaderFault): string => `its headers break the rules of the chain (${kind})`;
