import { exportAgent, importAgent } from "agent-persistence/transfer";
import { FilePersistenceStorageProvider, type FileSystem, nodeFileSystem } from "agent-persistence/file";
import { expect, it } from "vitest";
import { delegating } from "../powerloss/delegating.ts";
import { collect, testDirectory } from "../storage/file/support/fixture.ts";
import { bytesOf, finish, inPieces, payer, storages, waitingPayer } from "./movedAgents.ts";
import { every } from "../soak/cases.ts";

/** Every how many of the calls that take room the device is tried full. */
const stride = every(5, 1);

/** A device that is full from a call on that takes room, until there is room again. */
class FullDevice {
  calls = 0;
  fullFrom = Infinity;

  readonly fileSystem: FileSystem = delegating(nodeFileSystem, {
    create: async (path) => {
      this.#takeRoom();
      const file = await nodeFileSystem.create(path);
      const write = async (bytes: Uint8Array) => {
        this.#takeRoom();
        return file.write(bytes);
      };
      return { write, fdatasync: () => file.fdatasync(), fsync: () => file.fsync(), close: () => file.close() };
    },
    mkdir: async (path) => {
      this.#takeRoom();
      return nodeFileSystem.mkdir(path);
    },
    link: async (existing, path) => {
      this.#takeRoom();
      return nodeFileSystem.link(existing, path);
    },
  });

  #takeRoom(): void {
    this.calls++;
    if (this.calls > this.fullFrom) throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
  }
}

type Storage = FilePersistenceStorageProvider;

const deeds: readonly (readonly [string, (storage: Storage, archive: Uint8Array) => Promise<unknown>])[] = [
  ["imported", (storage, archive) => importAgent(storage, inPieces(archive, 5000), { agentId: "copy" })],
  ["forked", (storage) => payer(storage).feature.agent("order-7").fork("copy")],
];

it.each(deeds)(
  "an agent that is %s onto a device that becomes full is not stored, and can be made again",
  async (_what, make) => {
    const source = await storages["memory"]!();
    await waitingPayer(source);
    const archive = await bytesOf(exportAgent(source, "order-7"));
    /** Returns how many calls took room, or that the device got full. */
    const attempt = async (fullAfter: number): Promise<number | "full"> => {
      const directory = await testDirectory();
      const device = new FullDevice();
      const open = () =>
        new FilePersistenceStorageProvider({
          directory,
          inlineThresholdBytes: 300,
          fileSystem: device.fileSystem,
          reserveBytes: 0,
        });
      const storage = open();
      await waitingPayer(storage);
      const before = device.calls;
      device.fullFrom = before + fullAfter;
      const error: unknown = await make(storage, archive).then(
        () => undefined,
        (cause: unknown) => cause,
      );
      device.fullFrom = Infinity;
      if (error === undefined) return device.calls - before;
      expect({ fullAfter, error }).toMatchObject({ fullAfter, error: { code: "storage_failed", reason: "full" } });
      expect(await collect(storage.log.list())).toMatchObject([{ agentId: "order-7" }]);
      await make(storage, archive);
      expect(await finish(payer(open()), "copy")).toMatchObject({ output: "ann, 800" });
      return "full";
    };
    const calls = await attempt(Infinity);
    if (calls === "full") throw new TypeError("the device was not to get full");
    let full = 0;
    for (let after = 0; after < calls; after += stride) if ((await attempt(after)) === "full") full++;
    expect(full).toBeGreaterThan(2);
  },
);
