/** Why a watch cannot be covered: the daemon has pruned a block it needs. `message` is a sentence for people. */
export class BlockGone extends Error {
  override readonly name = "BlockGone";
  readonly kind = "BlockGone";
  readonly height: number;
  constructor(height: number, message: string) {
    super(message);
    this.height = height;
  }
}
