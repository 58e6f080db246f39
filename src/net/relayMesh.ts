import type { Control, RelayInclusion } from "../core/gossip/frame.ts";
import type { PeerId } from "../ports/network.ts";
import { type Rng, shuffled } from "../ports/rng.ts";

/** Sizes of the relay mesh. Fewer than `low`: more are taken in; more than `high`: cut down to `n`. */
export type MeshSizes = { readonly low: number; readonly n: number; readonly high: number };

/** As in the reference, but a light node keeps three relays instead of two where there are three. */
export const LIGHT_MESH: MeshSizes = { low: 3, n: 4, high: 6 };
export const RELAY_MESH: MeshSizes = { low: 4, n: 8, high: 12 };

type Deps = {
  readonly isRelay: boolean;
  readonly sizes: MeshSizes;
  readonly rng: Rng;
  readonly send: (peer: PeerId, control: Control) => void;
  readonly hasEverSubscribed: (peer: PeerId) => boolean;
  /** A peer this node has dialled or was given as a seed: strangers must not crowd it out of the mesh. */
  readonly isChosen: (peer: PeerId) => boolean;
  /** The relay mesh has another member or one less. */
  readonly onChange: () => void;
};

/** The relay extension of KDF's gossip (p2p-wire.md 4): who relays, to whom this node sends, who has chosen this relay. */
export class RelayMesh {
  readonly #deps: Deps;
  readonly #connected = new Set<PeerId>();
  readonly #mesh = new Set<PeerId>();
  readonly #includedBy = new Set<PeerId>();
  /** Peers that took back being a relay: nobody honest says so twice. */
  readonly #resigned = new Set<PeerId>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** Peers that said they are relays. */
  get connected(): ReadonlySet<PeerId> {
    return this.#connected;
  }

  /** Relays this node sends to. */
  get mesh(): ReadonlySet<PeerId> {
    return this.#mesh;
  }

  /** On a relay: light nodes that have this relay in their mesh. */
  get includedBy(): ReadonlySet<PeerId> {
    return this.#includedBy;
  }

  /** First thing a relay says on a new connection. */
  greet(peer: PeerId): void {
    if (this.#deps.isRelay) this.#deps.send(peer, { iAmRelay: true });
  }

  /** A peer that announced a subscription before is never a relay. */
  onIAmRelay(peer: PeerId, isRelay: boolean): void {
    if (!isRelay) {
      if (this.#connected.delete(peer)) this.#resigned.add(peer);
      this.#leaveMesh(peer);
      return;
    }
    if (this.#deps.hasEverSubscribed(peer) || this.#connected.has(peer) || this.#resigned.has(peer)) return;
    this.#connected.add(peer);
    if (this.#includedBy.delete(peer)) this.#joinMesh(peer);
    else if (this.#lacksMembers(this.#deps.isChosen(peer))) this.#include(peer);
  }

  /** Light nodes ignore it: nobody sends to them because of it. */
  onIncluded(peer: PeerId, { included }: RelayInclusion): void {
    if (!this.#deps.isRelay) return;
    if (!included) {
      this.#includedBy.delete(peer);
      this.#leaveMesh(peer);
    } else if (!this.#connected.has(peer)) this.#includedBy.add(peer);
    else if (this.#mesh.has(peer)) return;
    else if (this.#mesh.size > this.#deps.sizes.high && !this.#deps.isChosen(peer)) this.#exclude(peer);
    else this.#joinMesh(peer);
  }

  /** Every 10 s. The size goes out even when nothing changed: it keeps the connections from idling out at 120 s. */
  upkeep(): void {
    const { sizes, rng, isChosen } = this.#deps;
    const spare = chosenFirst(
      shuffled(
        rng,
        [...this.#connected].filter((peer) => !this.#mesh.has(peer)),
      ),
      isChosen,
    )[0];
    if (spare !== undefined && this.#lacksMembers(isChosen(spare))) this.#include(spare);
    else if (this.#mesh.size > sizes.high) {
      for (const peer of chosenFirst(shuffled(rng, this.#mesh), isChosen).slice(sizes.n)) {
        this.#leaveMesh(peer);
        this.#exclude(peer);
      }
    }
    for (const peer of this.#mesh) this.#deps.send(peer, { meshSize: this.#mesh.size });
  }

  remove(peer: PeerId): void {
    this.#connected.delete(peer);
    this.#includedBy.delete(peer);
    this.#resigned.delete(peer);
    if (!this.#mesh.has(peer)) return;
    this.#leaveMesh(peer);
    // Not at the next upkeep but now: until then a message would go to fewer relays than there are.
    const spare = [...this.#connected].find((other) => !this.#mesh.has(other));
    if (spare !== undefined && this.#mesh.size < this.#deps.sizes.low) this.#include(spare);
  }

  /** Fewer than wanted; of peers this node has chosen itself, as many are wanted however many strangers there are. */
  #lacksMembers(chosen: boolean): boolean {
    const members = chosen ? [...this.#mesh].filter(this.#deps.isChosen).length : this.#mesh.size;
    return members < this.#deps.sizes.low;
  }

  #include(peer: PeerId): void {
    this.#joinMesh(peer);
    this.#deps.send(peer, { included: { included: true, meshSize: this.#mesh.size } });
  }

  #exclude(peer: PeerId): void {
    this.#deps.send(peer, { included: { included: false, meshSize: this.#mesh.size } });
  }

  #joinMesh(peer: PeerId): void {
    if (this.#mesh.has(peer)) return;
    this.#mesh.add(peer);
    this.#deps.onChange();
  }

  #leaveMesh(peer: PeerId): void {
    if (this.#mesh.delete(peer)) this.#deps.onChange();
  }
}

const chosenFirst = (peers: readonly PeerId[], isChosen: (peer: PeerId) => boolean): PeerId[] => [
  ...peers.filter(isChosen),
  ...peers.filter((peer) => !isChosen(peer)),
];
