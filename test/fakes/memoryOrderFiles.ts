import type { OrderFiles } from "../../src/app/orders/ordersDeps.ts";

/** Order files in a map, keyed `FOLDER/uuid`. */
export class MemoryOrderFiles implements OrderFiles {
  readonly files = new Map<string, unknown>();
  async write(folder: string, uuid: string, content: () => unknown): Promise<void> {
    this.files.set(`${folder}/${uuid}`, content());
  }
  async remove(folder: string, uuid: string): Promise<void> {
    this.files.delete(`${folder}/${uuid}`);
  }
}
