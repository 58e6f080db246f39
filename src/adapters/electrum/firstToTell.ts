import type { Clock } from "../../ports/clock.ts";
import type { RemoteServer } from "./remoteServer.ts";

/** Servers answer within some hundred milliseconds; nobody waits longer than this for one where others will do. */
export const SOON_MS = 2_000;

/**
 * What the first of `servers` tells that tells something; null: none does. Each is asked when those before it told nothing, or have not answered
 * for a moment: some that answer just before the deadline would have everybody wait for each of them in turn. Rejects with the first failure.
 * @param ask null: it tells nothing. `isOver`: another one has told it meanwhile, and nobody waits
 */
export function firstToTell<T>(
  clock: Clock,
  servers: readonly RemoteServer[],
  ask: (server: RemoteServer, isOver: () => boolean) => Promise<T | null>,
): Promise<T | null> {
  const queue = [...servers];
  let open = 0;
  let isOver = false;
  let cancel: () => void = () => undefined;
  return new Promise((resolve, reject) => {
    const end = (settle: () => void): void => {
      isOver = true;
      cancel();
      settle();
    };
    const next = (): void => {
      cancel();
      const server = queue.shift();
      if (server === undefined) {
        if (open === 0) end(() => resolve(null));
        return;
      }
      open++;
      if (queue.length > 0) cancel = clock.after(SOON_MS, next);
      ask(server, () => isOver).then(
        (told) => {
          open--;
          if (isOver) return;
          if (told === null) next();
          else end(() => resolve(told));
        },
        (cause: unknown) => end(() => reject(cause)),
      );
    };
    next();
  });
}
