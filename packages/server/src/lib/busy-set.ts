/**
 * A set of objects that come and go all the time. A Set allocates a new table every few times. An old table keeps its members and the next
 * table, so once one of them has become old, the garbage collector keeps all members until it looks through the whole heap.
 */

export interface BusyMember {
  /** The index in the only set that the member may be in; undefined outside of it. */
  place: number | undefined;
}

export class BusySet<Member extends BusyMember> {
  readonly #members: Member[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(member: Member): void {
    member.place ??= this.#members.push(member) - 1;
  }

  delete(member: Member): void {
    const { place } = member;
    if (place === undefined) return;
    member.place = undefined;
    const last = this.#members.pop() as Member;
    if (last === member) return;
    this.#members[place] = last;
    last.place = place;
  }

  /** The members of this moment. */
  values(): Member[] {
    return [...this.#members];
  }
}
