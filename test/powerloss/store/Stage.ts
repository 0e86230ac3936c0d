import type { FileRecordLogOptions, FileSystem } from "agent-persistence/file";
import type { SimulatedFileSystem } from "agent-persistence/testing";
import { History } from "../History.ts";
import { Machine } from "../Machine.ts";
import { type ExpectedPicture, nothing } from "../Picture.ts";
import { StoreProcess } from "./StoreProcess.ts";

/** How a process sees a file system: a wrapper breaks the protocol on purpose. Called once for each process. */
export type Wrap = (fileSystem: FileSystem) => FileSystem;

/** How a storage differs from the one that is shipped. */
export interface Variant {
  readonly wrap?: Wrap;
  readonly sha256?: FileRecordLogOptions["sha256"];
}

/** A device, the machine that it is in, and what the storage on it has promised. */
export class Stage {
  readonly fileSystem: SimulatedFileSystem;
  readonly machine: Machine;
  readonly history: History;
  readonly variant: Variant;

  constructor(
    fileSystem: SimulatedFileSystem,
    variant: Variant = {},
    {
      machine = new Machine(),
      allowed = [nothing],
    }: {
      readonly machine?: Machine;
      readonly allowed?: readonly [ExpectedPicture, ...ExpectedPicture[]];
    } = {},
  ) {
    this.fileSystem = fileSystem;
    this.machine = machine;
    this.variant = variant;
    this.history = new History(() => fileSystem.position, allowed);
  }

  /** @param through what only this process sees. */
  start(through: Wrap = (fileSystem) => fileSystem): StoreProcess {
    const { wrap = (fileSystem) => fileSystem, sha256 } = this.variant;
    return new StoreProcess(this.machine.start(through(wrap(this.fileSystem))), this.history, sha256);
  }
}
