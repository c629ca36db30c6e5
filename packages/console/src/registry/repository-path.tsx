/** Links to the groups above a repository and to the repository itself. */
import { ScreenLink } from "../frame/screen-link.tsx";
import { GroupPath } from "../tree/group-path.tsx";

export function RepositoryPath({ uid }: { readonly uid: string }) {
  return (
    <div>
      <GroupPath uid={uid} />
      <ScreenLink to="/repository" uid={uid} size="sm">
        Its repository
      </ScreenLink>
    </div>
  );
}
