import type { RemoteServer } from "./remoteServer.ts";

/**
 * What servers answer that are all asked the same, in their order, as soon as it is enough, or all have answered; null: not yet. Who answers late keeps nobody
 * waiting for what the others decide. Rejects with the first failure.
 */
export function answersUntil<T>(
  servers: readonly RemoteServer[],
  isEnough: (answers: readonly (T | null)[]) => boolean,
  ask: (server: RemoteServer) => Promise<T>,
): Promise<readonly (T | null)[]> {
  const answers = servers.map((): T | null => null);
  let open = servers.length;
  return new Promise((resolve, reject) => {
    const look = (): void => {
      if (open === 0 || isEnough(answers)) resolve([...answers]);
    };
    look();
    for (const [i, server] of servers.entries()) {
      ask(server).then((answer) => {
        answers[i] = answer;
        open--;
        look();
      }, reject);
    }
  });
}
