_offramp_reply() {
  # $1: the words to choose from; $2: what is typed; $3: what stands before each in the same word
  mapfile -t COMPREPLY < <(compgen -P "$3" -W "$1" -- "$2")
  [[ ${COMPREPLY[0]-} == *[=:] ]] && compopt -o nospace 2>/dev/null
}

_offramp_files() {
  # $1: what is typed; $2: what stands before it in the same word; $3: the suffixes of the files, if they have some
  compopt -o filenames 2>/dev/null
  local suffix
  local -a found=()
  for suffix in $3; do
    mapfile -t -O ${#found[@]} found < <(compgen -f -X "!*.$suffix" -P "$2" -- "$1")
  done
  if ((${#found[@]})); then
    mapfile -t -O ${#found[@]} found < <(compgen -d -P "$2" -- "$1")
    COMPREPLY=("${found[@]}")
  else
    mapfile -t COMPREPLY < <(compgen -f -P "$2" -- "$1")
  fi
}

# The backends of the command line, which --set may leave out of its keys.
_offramp_chosen() {
  local i
  for ((i = 1; i < ${#words[@]} - 1; ++i)); do
    case ${words[i]} in
      --backend) echo "${words[i + 1]//,/ }" ;;
      --backend=*) word=${words[i]#*=} && echo "${word//,/ }" ;;
    esac
  done
}

_offramp_value() {
  # $1: the kind of value; $2: what is typed; $3: what stands before it in the same word
  case $1 in
    files*) _offramp_files "$2" "$3" "$(word=${1#files} && echo "${word#:}")" ;;
    networks)
      _offramp_reply "$(_offramp_words networks)" "$2" "$3"
      ((${#COMPREPLY[@]})) || _offramp_files "$2" "$3" xml ;;
    setting)
      if [[ $2 == *=* ]]; then
        local key=$3${2%%=*}=
        [[ $COMP_WORDBREAKS == *=* ]] && key=""
        local choices backend
        choices=$(_offramp_choices "${2%%=*}")
        for backend in $(_offramp_chosen); do
          choices+=" $(_offramp_choices "$backend.${2%%=*}")"
        done
        _offramp_reply "$choices" "${2#*=}" "$key"
      else
        local keys backend
        keys=$(_offramp_words keys)
        for backend in $(_offramp_chosen); do
          keys+=" $(_offramp_words "keys of $backend")"
        done
        _offramp_reply "$keys" "$2" "$3"
      fi ;;
    backends)
      local list=""
      [[ $2 == *,* ]] && list="${2%,*},"
      _offramp_reply "$(_offramp_words backends)" "${2##*,}" "$3$list" ;;
    *) _offramp_reply "$(_offramp_words "$1")" "$2" "$3" ;;
  esac
}

_offramp_runs() {
  [[ " $(_offramp_words runners) " == *" $1 "* ]]
}

_offramp() {
  local -a words=()
  local i word
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if ((i > 1)) && [[ $word == = || ${COMP_WORDS[i - 1]} == = && -n $word ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  local cur=${words[-1]} sub="" last=$((${#words[@]} - 1)) place=0 program=""
  COMPREPLY=()
  for ((i = 1; i < last; ++i)); do
    word=${words[i]}
    if [[ -z $sub ]]; then
      [[ $word == -* ]] || sub=$word
    elif [[ $word == -- ]]; then
      program=$((i + 1))
      break
    elif [[ $word == -* ]]; then
      [[ $word != *=* && -n $(_offramp_kind "$sub" "$word") ]] && ((++i))
    elif _offramp_runs "$sub"; then
      program=$i
      break
    else
      ((++place))
    fi
  done
  if [[ -z $sub ]]; then
    _offramp_reply "$(_offramp_words subcommands) $(_offramp_options "")" "$cur" ""
  elif [[ -n $program ]]; then
    if ((last == program)); then
      mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
      _offramp_files "$cur" ""
    fi
  elif ((i > last)); then
    _offramp_value "$(_offramp_kind "$sub" "${words[last - 1]}")" "$cur" ""
  elif [[ $cur == --*=* ]]; then
    word=${cur%%=*}=
    [[ $COMP_WORDBREAKS == *=* ]] && word=""
    _offramp_value "$(_offramp_kind "$sub" "${cur%%=*}")" "${cur#*=}" "$word"
  elif [[ $cur == -* ]]; then
    _offramp_reply "$(_offramp_options "$sub")" "$cur" ""
  elif _offramp_runs "$sub"; then
    mapfile -t COMPREPLY < <(compgen -c -- "$cur")
  else
    word=$(_offramp_place "$sub" "$place")
    _offramp_value "${word:-$(_offramp_place "$sub" "*")}" "$cur" ""
  fi
}

complete -F _offramp offramp
