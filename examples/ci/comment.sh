#!/usr/bin/env bash
# comment.sh PAGE.md: shows a page as one comment on the pull request or merge request, and replaces it there in later runs.
# On GitHub (environment): GITHUB_TOKEN with `pull-requests: write`, PULL_REQUEST: its number. On GitLab: LOCKSTEP_COMMENT_TOKEN, a
# project access token with the scope `api` (CI_JOB_TOKEN can't comment); without it nothing is done.
# The token gets into no log and no list of processes.
here=$(dirname "$0")
# shellcheck source=lib.sh
. "$here/lib.sh"

page=${1:?"usage: comment.sh PAGE.md"}
[ -f "$page" ] || fail "there is no $page"
mark="<!-- lockstep: $(basename "$page") -->"  # by which a later run finds the comment
if [ -n "${GITLAB_CI:-}" ]; then
  [ -n "${LOCKSTEP_COMMENT_TOKEN:-}" ] || { echo "no comment: LOCKSTEP_COMMENT_TOKEN is not set"; exit 0; }
  header="PRIVATE-TOKEN: $LOCKSTEP_COMMENT_TOKEN"
  comments=$CI_API_V4_URL/projects/$CI_PROJECT_ID/merge_requests/$CI_MERGE_REQUEST_IID/notes
  one=$comments update=PUT
else
  header="Authorization: Bearer ${GITHUB_TOKEN:?}"
  comments=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues/${PULL_REQUEST:?}/comments
  one=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY/issues/comments update=PATCH
fi

# call METHOD URL [BODY-FILE]
call() {
  printf 'header = "%s"\nheader = "Content-Type: application/json"\n' "$header" |
    curl --config - --silent --show-error --fail --max-time 60 --request "$1" "$2" ${3:+--data-binary "@$3"}
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# GitHub refuses comments of more than 65,536 characters.
[ "$(wc -m <"$page")" -le 65000 ] || fail "$page is too long for a comment"
{ echo "$mark"; cat "$page"; } | jq -Rs '{body: .}' >"$work/body.json"

id=
for ((number = 1; number <= 50; number++)); do  # 5,000 comments: a bound, not a limit that anybody meets
  call GET "$comments?per_page=100&page=$number" >"$work/comments.json"
  # Bots only: nobody else's comment is replaced. GitLab does not say in a note who is one.
  id=$(jq -r --arg mark "$mark" \
    '[.[] | select((.body | startswith($mark)) and (.user == null or .user.type == "Bot"))][0].id // empty' "$work/comments.json")
  if [ -n "$id" ] || [ "$(jq length "$work/comments.json")" -lt 100 ]; then break; fi
done
if [ -n "$id" ]; then
  call $update "$one/$id" "$work/body.json" >/dev/null
else
  call POST "$comments" "$work/body.json" >/dev/null
fi
