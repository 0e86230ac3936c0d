import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { PostgresServer } from "./PostgresServer.ts";

/**
 * For `globalSetup`: tests that want a Postgres ask at a port of this process, and the first of them has it started. Runs of
 * other tests do not wait for it. `DATABASE_URL` names one that is there already.
 */
export default async function serveOnDemand(): Promise<() => Promise<void>> {
  if (process.env["DATABASE_URL"] !== undefined) return async () => {};
  let started: Promise<PostgresServer> | undefined;
  const door = createServer((socket) => {
    started ??= PostgresServer.start();
    started.then(
      ({ url }) => socket.end(url),
      (error: unknown) => socket.end(String(error)),
    );
  });
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  process.env["POSTGRES_DOOR"] = String((door.address() as AddressInfo).port);
  return async () => {
    door.close();
    await (await started)?.stop();
  };
}
